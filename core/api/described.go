package api

import (
	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
)

// Described is an operation for people who try it by hand.
type Described struct {
	ID, Method, Path   string // the path in OpenAPI's form
	Group, Title, Text string
	Kind               adapter.Kind
	Scope              apikey.Scope
	Writes             bool
	Tool               bool   // language models may call it
	Example            string // the body of the first documented example; "": it takes none
}

// Operations returns the operations of the interface, in the order of the documents.
func Operations() []Described {
	var all []Described
	for _, op := range operations(Services{}) {
		all = append(all, Described{
			ID: op.ID, Method: op.Method, Path: op.Path, Group: op.Tag, Title: op.Summary, Text: op.Description,
			Kind: op.Kind, Scope: op.Scope, Writes: op.writes, Tool: op.Tool.Name != "", Example: op.exampleBody(),
		})
	}
	return all
}

// LoggedOperations returns the ids of the operations that the log of requests has.
func LoggedOperations() []string {
	var all []string
	for _, op := range operations(Services{}) {
		if op.Kind != "" {
			all = append(all, op.ID)
		}
	}
	return all
}
