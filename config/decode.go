package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// decoder reads YAML and variables into structs, and collects every fault.
type decoder struct {
	environ  map[string]string
	declared []Provider
	variable string // the variable that is being read; "" while the file is read
	known    []string
	faults   []Fault
}

// file reads a YAML document into a struct.
func (d *decoder) file(raw []byte, into any) {
	root := reflect.ValueOf(into).Elem()
	d.known = append(pathsOf(root.Type(), ""), providerPaths(d.declared)...)
	tree, problem := parse(raw)
	if problem != "" {
		d.wrong("", "%s", problem)
		return
	}
	d.value("", tree, root, form{})
}

// parse reads one YAML document, which a byte order mark may begin (YAML 1.2.2 section 5.2). It shortens the
// parser's message to its first line: the rest quotes the file, which may hold an address with a password.
func parse(raw []byte) (tree any, problem string) {
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	// The decoder reads 010 as YAML 1.1 does, as 8; by YAML 1.2.2 (section 10.3.2), and in a variable, it is 10.
	for _, t := range lexer.Tokenize(string(raw)) {
		if t.Type == token.OctetIntegerType && !strings.Contains(t.Value, "0o") {
			return nil, fmt.Sprintf("has a number in line %d that begins with 0: some versions of YAML read it as "+
				"octal. Leave the 0 out, or put it in quotes if it is text.", t.Position.Line)
		}
	}
	documents := yaml.NewDecoder(bytes.NewReader(raw))
	if err := documents.Decode(&tree); err != nil && !errors.Is(err, io.EOF) {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return nil, "is not YAML: " + message
	}
	var more any
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, "must be one YAML document."
	}
	return tree, ""
}

// form holds the rules for a field's values, from the field's tags.
type form struct {
	min, max string
	choices  []string
	kind     string
}

func formOf(f reflect.StructField) form {
	o := form{min: f.Tag.Get("min"), max: f.Tag.Get("max"), kind: f.Tag.Get("kind")}
	if c := f.Tag.Get("choices"); c != "" {
		o.choices = strings.Split(c, ",")
	}
	return o
}

// value reads a node of the tree into a Go value. A null node counts as not given.
func (d *decoder) value(path string, node any, into reflect.Value, is form) {
	if node == nil {
		return
	}
	switch {
	case is.kind == "secret" && into.Kind() == reflect.String:
		d.secret(path, node, into)
	case into.Kind() == reflect.Struct:
		d.mapping(path, node, into)
	case into.Kind() == reflect.Pointer:
		made := reflect.New(into.Type().Elem())
		d.value(path, node, made.Elem(), is)
		into.Set(made)
	case into.Kind() == reflect.Slice:
		d.list(path, node, into, is)
	case into.Type() == reflect.TypeFor[Providers]():
		d.providers(path, node, into.Interface().(Providers))
	case into.Kind() == reflect.Map:
		d.entries(path, node, into, is)
	case into.Kind() == reflect.Interface:
		if free, problem := jsonValue(node); problem != "" {
			d.wrong(path, "%s", problem)
		} else if free != nil {
			into.Set(reflect.ValueOf(free))
		}
	default:
		if problem := scalar(node, into, is); problem != "" {
			d.wrong(path, "%s", problem)
		}
	}
}

// mapping reads a mapping into a struct.
func (d *decoder) mapping(path string, node any, into reflect.Value) {
	given, ok := node.(map[string]any)
	if !ok {
		d.wrong(path, "must be a mapping of keys to values.")
		return
	}
	fields := map[string]bool{}
	for i := range into.NumField() {
		field := into.Type().Field(i)
		name := field.Tag.Get("yaml")
		fields[name] = true
		if child := given[name]; child != nil {
			d.value(join(path, name), child, into.Field(i), formOf(field))
		} else if field.Tag.Get("required") == "true" {
			d.wrong(join(path, name), "is required: %s", field.Tag.Get("help"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !fields[name] {
			d.unknown(join(path, name))
		}
	}
}

// unknown records a fault for an unknown key, with the known key that was most likely meant.
func (d *decoder) unknown(path string) {
	// Known keys have no list indexes: "tenants[].name" stands for "tenants[2].name".
	switch meant := meantBy(withoutIndexes(path), d.known); {
	case meant == withoutIndexes(path): // the name itself has the dots
		level, name := split(path)
		d.wrong(path, "is not a known key; write %s below %s, on a line of its own.", name, level[:len(level)-1])
	case meant != "":
		d.wrong(path, "is not a known key; did you mean %s?", meant)
	default:
		d.wrong(path, "is not a known key.")
	}
}

func (d *decoder) list(path string, node any, into reflect.Value, is form) {
	given, ok := node.([]any)
	if !ok {
		d.wrong(path, "must be a list.")
		return
	}
	made := reflect.MakeSlice(into.Type(), len(given), len(given))
	for i, child := range given {
		at := fmt.Sprintf("%s[%d]", path, i)
		if child == nil {
			d.wrong(at, "has no value.")
			continue
		}
		d.value(at, child, made.Index(i), is)
	}
	into.Set(made)
}

// entries reads a mapping with arbitrary keys.
func (d *decoder) entries(path string, node any, into reflect.Value, is form) {
	given, ok := node.(map[string]any)
	if !ok {
		d.wrong(path, "must be a mapping of names to values.")
		return
	}
	made := reflect.MakeMapWithSize(into.Type(), len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] == nil {
			continue
		}
		at, child := join(path, name), reflect.New(into.Type().Elem()).Elem()
		d.value(at, given[name], child, is)
		made.SetMapIndex(reflect.ValueOf(name), child)
	}
	into.Set(made)
}

// secret reads a [SecretSource], and stores the secret itself.
func (d *decoder) secret(path string, node any, into reflect.Value) {
	source, _ := node.(string) // resolve refuses "", so it refuses any other type
	secret, err := SecretSource(source).resolve(d.environ, nil)
	if err != nil {
		d.wrong(path, "%s.", err)
		return
	}
	into.SetString(secret)
}

// scalar reads a scalar node into a Go value. It returns what is wrong with the node, or "".
func scalar(node any, into reflect.Value, is form) string {
	switch given := node.(type) {
	case []any:
		return "must be " + describe(into, is) + ", not a list."
	case map[string]any:
		hint := "."
		if into.Kind() == reflect.String { // in braces, the parser takes calendar:read for a mapping
			hint = "; put text with a colon in quotes."
		}
		return "must be " + describe(into, is) + ", not a mapping" + hint
	case string:
		if isNumberOrBool(into) {
			return "must be " + describe(into, is) + ", without quotes."
		}
		return text(given, into, is)
	case bool:
		if into.Kind() != reflect.Bool {
			return "must be " + describe(into, is) + "; put it in quotes if it is meant as text."
		}
		into.SetBool(given)
		return ""
	default: // a number
		if into.Kind() == reflect.String {
			return "must be text; put it in quotes."
		}
		if into.Kind() == reflect.Bool {
			return "must be true or false."
		}
		return text(fmt.Sprint(given), into, is)
	}
}

// text parses a value from its text. It returns what is wrong with the text, or "".
func text(given string, into reflect.Value, is form) string {
	if len(is.choices) > 0 && !slices.Contains(is.choices, given) {
		return "must be one of " + strings.Join(is.choices, ", ") + "."
	}
	if into.Type() == reflect.TypeFor[time.Duration]() {
		n, err := time.ParseDuration(given)
		if err != nil || outside(int64(n), is, durationBound) {
			return "must be " + describe(into, is) + "."
		}
		into.SetInt(int64(n))
		return ""
	}
	switch into.Kind() {
	case reflect.String:
		if problem := checkForm(is.kind, given); problem != "" {
			return problem
		}
		into.SetString(given)
	case reflect.Int:
		n, err := strconv.Atoi(given)
		if err != nil || outside(int64(n), is, intBound) {
			return "must be " + describe(into, is) + "."
		}
		into.SetInt(int64(n))
	case reflect.Bool:
		if given != "true" && given != "false" {
			return "must be true or false."
		}
		into.SetBool(given == "true")
	default:
		panic("config: a field of type " + into.Type().String())
	}
	return ""
}

// describe returns what a value must be, with its bounds.
func describe(into reflect.Value, is form) string {
	if len(is.choices) > 0 {
		return "one of " + strings.Join(is.choices, ", ")
	}
	what := "text"
	switch {
	case into.Type() == reflect.TypeFor[time.Duration]():
		what = "a duration such as 500ms, 8s or 72h"
	case into.Kind() == reflect.Int:
		what = "a whole number"
	case into.Kind() == reflect.Bool:
		return "true or false"
	}
	switch {
	case is.min != "" && is.max != "":
		what += " from " + is.min + " to " + is.max
	case is.min != "":
		what += ", at least " + is.min
	}
	return what
}

func isNumberOrBool(into reflect.Value) bool {
	return into.Kind() == reflect.Int || into.Kind() == reflect.Bool
}

// outside reports whether n is out of bounds. The function bound parses a bound from its text.
func outside(n int64, is form, bound func(string) int64) bool {
	return is.min != "" && n < bound(is.min) || is.max != "" && n > bound(is.max)
}

func durationBound(text string) int64 {
	n, err := time.ParseDuration(text)
	if err != nil {
		panic("config: a bound that is no duration: " + text)
	}
	return int64(n)
}

func intBound(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("config: a bound that is no number: " + text)
	}
	return n
}

// jsonValue converts a node into the value that encoding/json would return. It also returns what is wrong
// with the node, or "".
func jsonValue(node any) (any, string) {
	switch given := node.(type) {
	case nil, string, bool:
		return given, ""
	case uint64:
		return float64(given), wholeProblem(given > 1<<53)
	case int64:
		return float64(given), wholeProblem(given < -1<<53)
	case int:
		return float64(given), ""
	case float64:
		if math.IsNaN(given) || math.IsInf(given, 0) {
			return nil, "must be a finite number."
		}
		return given, ""
	case []any:
		list := make([]any, 0, len(given))
		for _, child := range given {
			free, problem := jsonValue(child)
			if problem != "" {
				return nil, problem
			}
			list = append(list, free)
		}
		return list, ""
	case map[string]any:
		entries := make(map[string]any, len(given))
		for name, child := range given {
			free, problem := jsonValue(child)
			if problem != "" {
				return nil, problem
			}
			entries[name] = free
		}
		return entries, ""
	}
	return nil, "must be text, a number, true or false, a list or a mapping."
}

func wholeProblem(tooLarge bool) string {
	if tooLarge {
		return "is too large for a number; put it in quotes."
	}
	return ""
}

// pathsOf returns the paths of a struct's keys and of all below, in order; in lists as "tenants[].name".
func pathsOf(t reflect.Type, prefix string) []string {
	var paths []string
	for i := range t.NumField() {
		field := t.Field(i)
		path := join(prefix, field.Tag.Get("yaml"))
		paths = append(paths, path)
		below := field.Type
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		switch {
		case below.Kind() == reflect.Struct:
			paths = append(paths, pathsOf(below, path)...)
		case below.Kind() == reflect.Slice && below.Elem().Kind() == reflect.Struct:
			paths = append(paths, pathsOf(below.Elem(), path+"[]")...)
		}
	}
	return paths
}

func withoutIndexes(path string) string {
	var b strings.Builder
	inside := false
	for _, r := range path {
		if r == ']' {
			inside = false
		}
		if !inside {
			b.WriteRune(r)
		}
		inside = inside || r == '['
	}
	return b.String()
}

func join(path, name string) string {
	return strings.TrimPrefix(path+"."+name, ".")
}

// defaults returns the configuration in which every key has its default.
func defaults(declared []Provider) Config {
	cfg := Config{Providers: Providers{}}
	for _, p := range declared {
		cfg.Providers[p.Name] = map[string]string{}
	}
	for _, k := range cfg.keys(declared) {
		if problem := k.setText(k.fallback); problem != "" {
			panic("config: the default of " + k.path + " " + problem)
		}
	}
	return cfg
}

// key is one key of the configuration that holds a value.
type key struct {
	path, help, fallback string
	setText              func(given string) (problem string) // sets the value from a variable's text
}

// keys returns every key: those of the struct, in order, then those of the declared providers.
func (c *Config) keys(declared []Provider) []key {
	return append(keysIn(reflect.ValueOf(c).Elem(), ""), c.Providers.keys(declared)...)
}

// keysIn returns every key of the struct and below, in order. It skips providers' keys, which are not fields.
func keysIn(in reflect.Value, prefix string) []key {
	var keys []key
	for i := range in.NumField() {
		field := in.Type().Field(i)
		path := join(prefix, field.Tag.Get("yaml"))
		switch field.Type.Kind() {
		case reflect.Map:
		case reflect.Struct:
			keys = append(keys, keysIn(in.Field(i), path)...)
		default:
			keys = append(keys, key{
				path: path, help: field.Tag.Get("help"), fallback: field.Tag.Get("default"),
				setText: func(given string) string { return setText(given, in.Field(i), formOf(field)) },
			})
		}
	}
	return keys
}

// setText sets a value from a variable's text. A list is separated by commas.
func setText(given string, into reflect.Value, is form) string {
	if into.Kind() != reflect.Slice {
		return text(given, into, is)
	}
	made := reflect.MakeSlice(into.Type(), 0, 0)
	for part := range strings.SplitSeq(given, ",") {
		item := reflect.New(into.Type().Elem()).Elem()
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if problem := text(part, item, is); problem != "" {
			return problem
		}
		made = reflect.Append(made, item)
	}
	into.Set(made)
	return ""
}
