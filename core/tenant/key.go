package tenant

// NewKey is an API key to be made.
type NewKey struct {
	Label       string
	Scopes      []Scope  // none: all
	Connections []string // names of the connections it is bound to, at most one of a kind; other kinds use the defaults
	Test        bool     // fd_test_: reaches sandbox connections only
}
