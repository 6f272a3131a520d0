package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Example returns an example file: every key with its default and explanation, including the keys of the
// declared providers.
func Example(declared []Provider) string {
	e := example{declared: declared}
	e.WriteString(`# The configuration of Frontdesk: every key, with its default. A file needs only the keys it changes.
# Each key is also a variable: FRONTDESK_ and its path in capitals, with two underscores between levels, such as
# FRONTDESK_SERVER__LISTEN. A list in a variable is separated by commas. Variables win over the file.
`)
	e.section(reflect.TypeFor[Config](), "")
	return e.String()
}

type example struct {
	strings.Builder
	declared []Provider
}

func (e *example) section(t reflect.Type, indent string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, help := field.Tag.Get("yaml"), field.Tag.Get("help")
		if choices := field.Tag.Get("choices"); choices != "" {
			help += " One of " + strings.ReplaceAll(choices, ",", ", ") + "."
		}
		switch kind := field.Type.Kind(); kind {
		case reflect.Struct:
			e.heading(name, help, indent)
			e.section(field.Type, indent+"  ")
		case reflect.Map:
			e.heading(name, help, indent)
			e.providers(indent + "  ")
		default:
			if indent == "" {
				e.WriteString("\n")
			}
			e.key(name, help, yamlOf(field.Tag.Get("default"), kind), indent)
		}
	}
}

func (e *example) providers(indent string) {
	for _, p := range e.declared {
		e.heading(p.Name, p.Help, indent)
		for _, k := range p.Keys {
			e.key(k.Name, k.Help, yamlOf(k.Default, reflect.String), indent+"  ")
		}
	}
}

func (e *example) heading(name, help, indent string) {
	e.WriteString("\n")
	e.comment(help, indent)
	fmt.Fprintf(e, "%s%s:\n", indent, name)
}

func (e *example) key(name, help, value, indent string) {
	e.comment(help, indent)
	fmt.Fprintf(e, "%s%s: %s\n", indent, name, value)
}

// comment writes a text as comment lines of at most 118 characters.
func (e *example) comment(text, indent string) {
	const width = 118
	begin := indent + "#"
	line := begin
	for word := range strings.FieldsSeq(text) {
		if line != begin && len(line)+1+len(word) > width {
			e.WriteString(line + "\n")
			line = begin
		}
		line += " " + word
	}
	e.WriteString(line + "\n")
}

// yamlOf returns a default as YAML.
func yamlOf(fallback string, kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return fmt.Sprintf("%q", fallback)
	case reflect.Slice:
		return "[" + strings.ReplaceAll(fallback, ",", ", ") + "]"
	}
	return fallback
}
