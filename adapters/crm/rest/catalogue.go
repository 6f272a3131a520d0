package rest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"frontdesk/core/adapter"
)

//go:embed catalogue/*.yaml
var catalogue embed.FS

// description is a file of the catalogue: one ticket system, described for the adapter rest. The first of the file's two
// documents declares what people give. The second, most of the file, is read when a connection needs it: parsing all of
// them takes a third of the time in which a process starts.
type description struct {
	Title       string     `yaml:"title"`
	Help        string     `yaml:"help"`
	Settings    []declared `yaml:"settings"`
	Credentials []declared `yaml:"credentials"`

	requests func() map[string]any // settings of rest, from the second document
}

// details is the second document of a description.
type details struct {
	Works   map[string]string `yaml:"works"`  // what works, for people: create, get, key, callers
	Limits  []string          `yaml:"limits"` // what does not
	Sources []source          `yaml:"sources"`
	Rest    map[string]any    `yaml:"rest"` // settings of rest
}

// source is a page of the vendor's documentation, and what was taken from it.
type source struct {
	Title string `yaml:"title"`
	URL   string `yaml:"url"`
	For   string `yaml:"for"`
}

// declared is a setting or credential that the operator gives. One that is named as a setting of rest is that
// setting, and any other is a text that expressions see in .values.
type declared struct {
	Name     string   `yaml:"name"`
	Type     string   `yaml:"type"`
	Required bool     `yaml:"required"`
	Default  string   `yaml:"default"`
	Choices  []string `yaml:"choices"`
	Help     string   `yaml:"help"`
}

// override is the setting by which an operator changes parts of a description.
const override = "override"

// Catalogue returns the adapters of the ticket systems that are described in the folder catalogue. The name of
// each is "rest/" and the name of its file. A connection keeps only what the operator gave, so that it works by
// the description of the gateway that runs it.
func Catalogue() []adapter.Adapter { return slices.Clone(systems()) }

// systems reads the catalogue once.
var systems = sync.OnceValue(func() []adapter.Adapter {
	files, err := fs.Glob(catalogue, "catalogue/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	list := make([]adapter.Adapter, 0, len(files))
	for _, file := range files {
		text, err := fs.ReadFile(catalogue, file)
		if err != nil {
			panic(err) // it was listed
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "catalogue/"), ".yaml")
		a, err := described(name, text)
		if err != nil {
			panic(fmt.Errorf("rest: the description %s: %w", name, err)) // a defect that tests find
		}
		list = append(list, a)
	}
	return list
})

// described returns the adapter of a ticket system from the text of its description.
func described(systemName string, text []byte) (adapter.Adapter, error) {
	var d description
	declared, requests, _ := bytes.Cut(text, []byte("\n---\n"))
	if err := yaml.UnmarshalWithOptions(declared, &d, yaml.DisallowUnknownField()); err != nil {
		return adapter.Adapter{}, err
	}
	d.requests = sync.OnceValue(func() map[string]any { return settingsIn(systemName, requests) })
	base := adapterWith(sync.OnceValue(d.expressions))
	fields, err := d.fields(base)
	if err != nil {
		return adapter.Adapter{}, err
	}
	return adapter.DerivedCRM(base, adapter.Derivation{
		Declaration: adapter.Declaration{
			Name: name + "/" + systemName, Title: d.Title, Help: d.Help, Description: string(text),
		},
		Fields: fields,
		Values: func(v adapter.Values) (adapter.Values, error) { return d.values(base, v), nil },
		Path:   func(path string) string { return d.path(path) },
	}), nil
}

// settingsIn returns the settings of rest in the second document of a description, as settings are stored.
func settingsIn(systemName string, text []byte) map[string]any {
	var document details
	var stored map[string]any
	err := yaml.UnmarshalWithOptions(text, &document, yaml.DisallowUnknownField())
	if err == nil {
		var raw []byte
		if raw, err = json.Marshal(document.Rest); err == nil {
			err = json.Unmarshal(raw, &stored)
		}
	}
	if err != nil {
		panic(fmt.Errorf("rest: the description %s: %w", systemName, err)) // a defect that tests find
	}
	return stored
}

// expressions compiles the expressions of the description, for all connections by it.
func (d description) expressions() map[string]parsed {
	var compiled map[string]parsed
	values := d.values(Adapter(), adapter.Values{Settings: map[string]any{"base_url": "https://frontdesk.invalid/"}})
	_, _ = adapter.AuthBy(func(s settings) (adapter.Auth, error) { // which decodes settings
		compiled = compile(s, nil).parser.parsed
		return adapter.Auth{}, nil
	})(values)
	return compiled
}

// fields returns the fields of the connections: those that the description declares, and override.
func (d description) fields(base adapter.Adapter) ([]adapter.Field, error) {
	var fields []adapter.Field
	for _, of := range []struct {
		secret bool
		list   []declared
	}{{false, d.Settings}, {true, d.Credentials}} {
		for _, s := range of.list {
			f := adapter.Field{
				Name: s.Name, Secret: of.secret, Type: s.Type, Choices: s.Choices, Default: s.Default,
				Required: s.Required, Help: s.Help,
			}
			if known, is := field(base, s.Name, of.secret); is {
				f.Type = known.Type
			} else if f.Type == "" {
				f.Type = "text"
			}
			if f.Name == "" || f.Help == "" || !adapter.Describable(f.Type) || of.secret && f.Type != "text" {
				return nil, fmt.Errorf("the field %q lacks a name, a help text or a usable type", s.Name)
			}
			fields = append(fields, f)
		}
	}
	var all []adapter.Field
	for _, f := range base.Fields {
		if !f.Secret {
			all = append(all, f)
		}
	}
	return append(fields, adapter.Field{
		Name: override, Type: "object", Fields: all,
		Help: "Settings of the provider rest that differ from the description, such as other statuses or other " +
			"members of a step, which its name identifies.",
	}), nil
}

// field returns the field of an adapter with that name.
func field(a adapter.Adapter, fieldName string, secret bool) (adapter.Field, bool) {
	i := slices.IndexFunc(a.Fields, func(f adapter.Field) bool { return f.Name == fieldName && f.Secret == secret })
	if i < 0 {
		return adapter.Field{}, false
	}
	return a.Fields[i], true
}

// values returns the values of rest for those of a connection.
func (d description) values(base adapter.Adapter, v adapter.Values) adapter.Values {
	settings := merged(map[string]any{}, d.requests())
	texts := map[string]any{}
	for _, s := range d.Settings {
		given := v.Settings[s.Name]
		if (given == nil || given == "") && s.Default != "" {
			given = s.Default
		}
		if given == nil || given == "" {
			continue
		}
		if _, is := field(base, s.Name, false); is {
			settings[s.Name] = given
		} else {
			texts[s.Name] = fmt.Sprint(given)
		}
	}
	if len(texts) > 0 {
		settings["values"] = texts
	}
	settings = merged(settings, object(v.Settings[override]))
	return adapter.Values{Settings: settings, Credentials: maps.Clone(v.Credentials)}
}

// object returns a mapping that was given as such or as JSON, or nil.
func object(given any) map[string]any {
	if text, isText := given.(string); isText {
		var read map[string]any
		if json.Unmarshal([]byte(text), &read) != nil {
			return nil
		}
		return read
	}
	members, _ := given.(map[string]any)
	return members
}

// merged returns settings with changes to them. Mappings are merged member by member. Steps are merged by their
// names: a step with a new name comes after the others.
func merged(settings, changes map[string]any) map[string]any {
	result := maps.Clone(settings)
	for name, change := range changes {
		was, _ := result[name].(map[string]any)
		steps, areSteps := result[name].([]any)
		more, isList := change.([]any)
		switch members := object(change); {
		case was != nil && members != nil:
			result[name] = merged(was, members)
		case name == "steps" && areSteps && isList:
			result[name] = mergedSteps(steps, more)
		default:
			result[name] = change
		}
	}
	return result
}

func mergedSteps(steps, changes []any) []any {
	result := slices.Clone(steps)
	for _, change := range changes {
		members, _ := change.(map[string]any)
		i := slices.IndexFunc(result, func(s any) bool {
			step, _ := s.(map[string]any)
			return step != nil && members != nil && step["name"] == members["name"]
		})
		if i < 0 {
			result = append(result, change)
			continue
		}
		result[i] = merged(result[i].(map[string]any), members)
	}
	return result
}

// path returns how the operator knows the place of a fault in the settings of rest: as given, or in override,
// since the description itself has none.
func (d description) path(path string) string {
	rest, isSetting := strings.CutPrefix(path, "settings.")
	if !isSetting {
		return path
	}
	if slices.ContainsFunc(d.Settings, func(s declared) bool { return s.Name == rest }) {
		return path
	}
	if value, is := strings.CutPrefix(rest, "values."); is {
		return "settings." + value
	}
	return "settings." + override + "." + rest
}
