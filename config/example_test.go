package config

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const exampleFile = "frontdesk.example.yaml"

func TestExampleShowsEveryKey(t *testing.T) {
	want := example(t)
	if *update {
		if err := os.WriteFile(exampleFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the keys give; run: go test ./config -update", exampleFile)
	}
}

func TestExampleIsTheDefaults(t *testing.T) {
	cfg, err := Load(exampleFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(cfg, Default()) {
		t.Errorf("got  %+v\nwant %+v", cfg, Default())
	}
}

// example writes the example file from the declarations of the keys.
func example(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(`# The configuration of Frontdesk: every key, with its default. A file needs only the keys it changes.
# Each key is also a variable: FRONTDESK_ and its path in capitals, with two underscores between levels, such as
# FRONTDESK_SERVER__LISTEN. A list in a variable is separated by commas. Variables win over the file.
`)
	cfg := defaults()
	section(t, &b, reflect.ValueOf(cfg), "")
	return b.Bytes()
}

func section(t *testing.T, b *bytes.Buffer, in reflect.Value, indent string) {
	for i := range in.NumField() {
		field := in.Type().Field(i)
		if indent == "" || field.Type.Kind() == reflect.Struct {
			b.WriteString("\n")
		}
		help := field.Tag.Get("help")
		if choices := field.Tag.Get("choices"); choices != "" {
			help += " One of " + strings.ReplaceAll(choices, ",", ", ") + "."
		}
		for _, line := range wrapped(help, 116-len(indent)) {
			fmt.Fprintf(b, "%s# %s\n", indent, line)
		}
		if field.Type.Kind() == reflect.Struct {
			fmt.Fprintf(b, "%s%s:\n", indent, field.Tag.Get("yaml"))
			section(t, b, in.Field(i), indent+"  ")
			continue
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, field.Tag.Get("yaml"), written(t, in.Field(i), field.Tag.Get("default")))
	}
}

// written is a default as YAML. Durations are written as their tags have them: 72h rather than Go's 72h0m0s.
func written(t *testing.T, v reflect.Value, tag string) string {
	if v.Kind() == reflect.Int64 {
		return tag
	}
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%q", v.String())
	}
	raw, err := yaml.MarshalWithOptions(v.Interface(), yaml.Flow(true))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
