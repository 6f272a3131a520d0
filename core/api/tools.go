package api

import (
	"encoding/json"
	"reflect"
	"slices"

	"frontdesk/core/apikey"
)

// tool says how language models may call an operation.
type tool struct {
	Name        string // "book_meeting"; "": they may not
	Description string // what a model needs to know to choose it
	// Destructive says that the operation changes or removes what is there, and does not only add to it.
	Destructive bool
	// Without are fields of the body that a model does not set.
	Without []string
	// CallerNumber is the field of the body for the number that the telephone call comes from. A model does not
	// set it: what a model says of the call that it is in proves nothing. "": there is none.
	CallerNumber string
	// AboutCaller says that the operation tells who calls.
	AboutCaller bool
}

// Tool is an operation as a language model calls it: a POST with a JSON object as its body.
type Tool struct {
	Name, Title, Description string
	Path                     string
	Scope                    apikey.Scope
	Schema                   json.RawMessage   // JSON Schema 2020-12 of the body: an object with plain properties
	Types                    map[string]string // the types that Schema gives the properties
	Writes, Destructive      bool
	CallerNumber             string // the field that a platform sets in place of the model; "": none
	AboutCaller              bool   // the operation tells who calls
}

// Tools returns the operations that language models may call, in the order of the documents.
func Tools() []Tool {
	var all []Tool
	for _, op := range operations(Services{}) {
		if op.Tool.Name == "" {
			continue
		}
		schema, types := schemaOf(op.request, append([]string{op.Tool.CallerNumber}, op.Tool.Without...))
		all = append(all, Tool{
			Name: op.Tool.Name, Title: op.Summary, Description: op.Tool.Description, Path: op.Path, Scope: op.Scope,
			Schema: schema, Types: types,
			Writes: op.writes, Destructive: op.Tool.Destructive, CallerNumber: op.Tool.CallerNumber,
			AboutCaller: op.Tool.AboutCaller,
		})
	}
	return all
}

// plainSchema is a schema that clients of every model take: one type for each property, and no unions.
type plainSchema struct {
	Type        string                 `json:"type"`
	Description string                 `json:"description,omitempty"`
	Items       *plainSchema           `json:"items,omitempty"`
	Properties  map[string]plainSchema `json:"properties,omitzero"`
	Required    []string               `json:"required,omitempty"`
	Additional  *bool                  `json:"additionalProperties,omitempty"`
}

// schemaOf returns the schema of a body, without some fields, and the types of the others.
func schemaOf(s *shape, without []string) (raw json.RawMessage, types map[string]string) {
	object := plainSchema{Type: "object", Properties: map[string]plainSchema{}, Additional: new(false)}
	types = map[string]string{}
	for _, f := range s.fields {
		if !f.inBody() || slices.Contains(without, f.name) {
			continue
		}
		field := s.of.FieldByIndex(f.index)
		p := plainSchema{Type: jsonType(field.Type), Description: field.Tag.Get("doc")}
		if p.Type == "array" {
			p.Items = &plainSchema{Type: jsonType(field.Type.Elem())}
		}
		object.Properties[f.name], types[f.name] = p, p.Type
		if f.need {
			object.Required = append(object.Required, f.name)
		}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic("api: a schema cannot be written: " + err.Error())
	}
	return raw, types
}

// jsonType returns the JSON type of a field's values. It panics for types that no tool has, which every test
// would find.
func jsonType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "array"
	}
	panic("api: no tool has a field of the type " + t.String())
}
