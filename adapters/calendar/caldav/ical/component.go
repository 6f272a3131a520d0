// Package ical decodes and encodes iCalendar objects (RFC 5545) without losing unknown data. An object is a
// tree of components with their properties in order. Changing one property leaves all others, and the
// components around them, as they were decoded:
//
//	object, err := ical.Decode(data)
//	event := object.ChildrenNamed("VEVENT")[0]
//	event.SetText("SUMMARY", "Moved")
//	data = ical.Encode(object)
//
// Decode accepts the errors of real calendars: bare line feeds, lines folded within a character, and lines
// that are no property. It never panics, and its work is bounded by the size of its input.
package ical

import (
	"slices"
	"strings"
)

// Component is one component with its properties and children.
type Component struct {
	Name       string // upper-case
	Properties []Property
	Children   []*Component
}

// Property is one content line.
type Property struct {
	Name   string // as written; "" for a malformed line, which is then Value
	Params []Param
	Value  string // as on the wire: still escaped
}

// Param is one parameter of a property.
type Param struct {
	Name   string
	Values []string // without their quotes, RFC 6868 escapes as written
}

// New returns a component.
func New(name string, properties ...Property) *Component {
	return &Component{Name: name, Properties: properties}
}

// Is reports whether the property has the name.
func (p Property) Is(name string) bool { return strings.EqualFold(p.Name, name) }

// Param returns the first value of a parameter, or "" if there is none.
func (p Property) Param(name string) string {
	for _, param := range p.Params {
		if strings.EqualFold(param.Name, name) && len(param.Values) > 0 {
			return unescapeParam(param.Values[0])
		}
	}
	return ""
}

// With returns the property with one more parameter.
func (p Property) With(name, value string) Property {
	p.Params = append(slices.Clone(p.Params), Param{Name: name, Values: []string{escapeParam(value)}})
	return p
}

// Text returns the value as text (RFC 5545 section 3.3.11).
func (p Property) Text() string { return unescapeText(p.Value) }

// ChildrenNamed returns the children of that name.
func (c *Component) ChildrenNamed(name string) []*Component {
	var found []*Component
	for _, child := range c.Children {
		if child.Name == name {
			found = append(found, child)
		}
	}
	return found
}

// Get returns the first property of that name.
func (c *Component) Get(name string) (Property, bool) {
	for _, p := range c.Properties {
		if p.Is(name) {
			return p, true
		}
	}
	return Property{}, false
}

// All returns every property of that name.
func (c *Component) All(name string) []Property {
	var found []Property
	for _, p := range c.Properties {
		if p.Is(name) {
			found = append(found, p)
		}
	}
	return found
}

// Has reports whether there is a property of that name.
func (c *Component) Has(name string) bool {
	_, ok := c.Get(name)
	return ok
}

// Text returns the first property of that name as text, or "" if there is none.
func (c *Component) Text(name string) string {
	p, _ := c.Get(name)
	return p.Text()
}

// Set replaces the properties of a name with the given ones, which must all have that name.
func (c *Component) Set(properties ...Property) {
	if len(properties) == 0 {
		return
	}
	name := properties[0].Name
	at := slices.IndexFunc(c.Properties, func(p Property) bool { return p.Is(name) })
	c.Remove(name)
	if at < 0 {
		at = len(c.Properties)
	}
	c.Properties = slices.Insert(c.Properties, at, properties...)
}

// SetText sets the property of that name to a text.
func (c *Component) SetText(name, text string) { c.Set(Text(name, text)) }

// Add appends properties.
func (c *Component) Add(properties ...Property) { c.Properties = append(c.Properties, properties...) }

// Remove drops every property of the names.
func (c *Component) Remove(names ...string) {
	c.Properties = slices.DeleteFunc(c.Properties, func(p Property) bool {
		return slices.ContainsFunc(names, p.Is)
	})
}

// Clone returns a copy of the component and everything below it.
func (c *Component) Clone() *Component {
	copied := &Component{Name: c.Name, Properties: slices.Clone(c.Properties)}
	for _, child := range c.Children {
		copied.Children = append(copied.Children, child.Clone())
	}
	return copied
}

// Text returns a property with a text as its value, escaped.
func Text(name, text string) Property { return Property{Name: name, Value: escapeText(text)} }

// Raw returns a property with a value that needs no escaping: a number, a date, an address.
func Raw(name, value string) Property { return Property{Name: name, Value: value} }

var textEscaper = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

func escapeText(s string) string {
	return textEscaper.Replace(strings.Map(dropControl, strings.ToValidUTF8(s, "\uFFFD")))
}

// dropControl drops control characters, which RFC 5545 section 3.1 does not allow in a value.
func dropControl(r rune) rune {
	if (r < ' ' && r != '\t' && r != '\n' && r != '\r') || r == 0x7f {
		return -1
	}
	return r
}

func unescapeText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n', 'N':
			b.WriteByte('\n')
		case '\\', ';', ',':
			b.WriteByte(s[i])
		default: // an escape that RFC 5545 does not know: some programs escape quotes and colons
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

var (
	paramEscaper   = strings.NewReplacer("^", "^^", "\r\n", "^n", "\n", "^n", "\r", "^n", `"`, "^'") // RFC 6868
	paramUnescaper = strings.NewReplacer("^^", "^", "^n", "\n", "^'", `"`)
)

func escapeParam(s string) string {
	return paramEscaper.Replace(strings.Map(dropControl, strings.ToValidUTF8(s, "\uFFFD")))
}

func unescapeParam(s string) string {
	return paramUnescaper.Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
