package settingspage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// field is one field of a form.
type field struct {
	Name, Label string
	Help, Error string
	Type        string // "text", "secret", "lines", "choice" or "check"
	Focus       bool   // the page opens with it: it is the first that is wrong
	Value       string
	Was         *string // what the form showed first; nil: the field changes nothing that is stored
	Required    bool
	Choices     []choice
}

// Describes returns the ids of the elements that describe the field.
func (f field) Describes() string {
	var ids []string
	if f.Help != "" {
		ids = append(ids, f.Name+"-help")
	}
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	return strings.Join(ids, " ")
}

type choice struct{ Value, Label string }

// yesOrNo are the choices of a setting that is true or false; its default is named.
func yesOrNo(byDefault string) []choice {
	name := map[string]string{"true": "yes", "false": "no", "": "no"}[byDefault]
	return []choice{{"", "the default (" + name + ")"}, {"true", "yes"}, {"false", "no"}}
}

// label makes a label of the name of a setting.
func label(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		if word == "url" || word == "id" || word == "api" {
			words[i] = strings.ToUpper(word)
		}
	}
	text := strings.Join(words, " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// withFaults puts the faults of a form beside its fields, in the order of the page, which opens with the first that is
// wrong. It returns the faults that belong to no field, which come before the form: also one that names none.
func withFaults(fields []field, err error) ([]field, []fault.Field) {
	f := fault.From(err)
	if f == nil {
		return fields, nil
	}
	fields = slices.Clone(fields)
	var rest []fault.Field
	if len(f.Fields) == 0 {
		rest = append(rest, fault.Field{Message: f.Detail})
	}
	for _, wrong := range f.Fields {
		message := wrong.Text()
		at := slices.IndexFunc(fields, func(f field) bool {
			return wrong.Path == f.Name || strings.HasPrefix(wrong.Path, f.Name+".") ||
				strings.HasPrefix(wrong.Path, f.Name+"[")
		})
		if at < 0 {
			rest = append(rest, fault.Field{Path: wrong.Path, Message: message})
			continue
		}
		if fields[at].Error != "" {
			message = fields[at].Error + " " + message
		}
		fields[at].Error = message
	}
	if at := slices.IndexFunc(fields, func(f field) bool { return f.Error != "" }); at >= 0 {
		fields[at].Focus = len(rest) == 0
	}
	return fields, rest
}

// wasPrefix begins the names of the hidden fields with what a form showed.
const wasPrefix = "was_"

// edited reports whether a field differs from what the form showed.
func (v *visit) edited(name string) bool {
	return v.form(name) != strings.TrimSpace(v.r.PostForm.Get(wasPrefix+name))
}

// isLeft reports whether a field was left as the form showed it.
func (v *visit) isLeft(name string) bool { return v.r.PostForm.Has(wasPrefix+name) && !v.edited(name) }

// over returns the values of a form as if the page had been opened just now: a field that was left as it was shown has
// what is stored, since somebody else may have changed it meanwhile.
func (v *visit) over(stored func(name string) string) func(name string) string {
	return func(name string) string {
		if v.isLeft(name) {
			return strings.TrimSpace(stored(name))
		}
		return v.form(name)
	}
}

// once makes a form that is sent twice create one thing: who clicks twice is shown the answer to the second click. The
// same page filled in otherwise is another form.
func (v *visit) once() (w admin.Write) {
	if v.form("once") != "" {
		sum := sha256.Sum256([]byte(v.r.PostForm.Encode()))
		w.IdempotencyKey = hex.EncodeToString(sum[:])
	}
	return w
}

// ofStored returns fields of a form that changes what is stored.
func ofStored(fields []field, stored func(name string) string) []field {
	for i := range fields {
		if f := &fields[i]; f.Type != "secret" {
			f.Was = new(stored(f.Name))
		}
	}
	return fields
}

// isInvalid reports whether a form is to be shown again with its faults.
func isInvalid(err error) bool {
	f := fault.From(err)
	return f != nil && (f.Code == fault.Invalid || f.Code == fault.Conflict)
}

// formPage replies with the page of a form, for which it is a refusal if something is wrong with what was sent.
func formPage(page string, view any, wrong error) reply {
	answer := reply{page: page, view: view}
	if wrong != nil {
		answer.status = http.StatusUnprocessableEntity
	}
	return answer
}

// prefixes of the names of fields, which are the paths of their faults.
const (
	settingsPrefix    = "settings."
	credentialsPrefix = "credentials."
)

// providerFields returns the form of a provider's settings and credentials, as its adapter declares them.
func providerFields(declared []admin.Field, given func(name string) string) []field {
	var fields []field
	for _, d := range declared {
		if d.Name == adapter.SettingSlots { // it has a page of its own
			continue
		}
		f := field{
			Name: settingsPrefix + d.Name, Label: label(d.Name), Help: d.Help, Required: d.Required, Type: "text",
		}
		switch {
		case d.Secret:
			f.Name, f.Type = credentialsPrefix+d.Name, "secret"
		case d.Type == "bool":
			f.Type, f.Choices = "choice", yesOrNo(d.Default)
		case len(d.Choices) > 0:
			f.Type, f.Choices = "choice", []choice{{"", "the default"}}
			if d.Default != "" {
				f.Choices[0].Label = "the default (" + d.Default + ")"
			}
			for _, c := range d.Choices {
				f.Choices = append(f.Choices, choice{c, c})
			}
		case slices.Contains([]string{"map", "fields", "object", "objects"}, d.Type):
			f.Type, f.Help = "lines", d.Help+" Write it as JSON."
		case d.Type == "list" || d.Type == "ints":
			f.Help += " Separate several with commas."
		}
		if d.Default != "" && f.Type == "text" {
			f.Help += " The default is " + d.Default + "."
		}
		if f.Type != "secret" { // a secret is never shown, not even to whoever typed it
			f.Value = given(f.Name)
		}
		fields = append(fields, f)
	}
	return fields
}

// provided returns the settings and credentials in a form of a provider.
func provided(declared []admin.Field, given func(name string) string) (map[string]any, map[string]string) {
	settings, credentials := map[string]any{}, map[string]string{}
	for _, d := range declared {
		if d.Secret {
			if value := given(credentialsPrefix + d.Name); value != "" {
				credentials[d.Name] = value
			}
			continue
		}
		if value := given(settingsPrefix + d.Name); value != "" {
			settings[d.Name] = value
		}
	}
	return settings, credentials
}

// tenantFields returns the form of a tenant's settings.
func tenantFields(given func(name string) string) []field {
	var fields []field
	for _, d := range tenant.Declared() {
		if isSlotSetting(d.Name) { // it has a page of its own
			continue
		}
		f := field{Name: settingsPrefix + d.Name, Label: label(d.Name), Help: d.Help, Type: "text"}
		switch d.Type {
		case "bool":
			f.Type, f.Choices = "choice", yesOrNo("")
		case "map":
			f.Type, f.Help = "lines", d.Help+" Write one per line, such as open = New."
		case "list":
			f.Help += " Separate several with commas."
		}
		f.Value = given(f.Name)
		fields = append(fields, f)
	}
	return fields
}

// tenantSettings returns the settings that were edited in the form of a tenant: values as JSON has them, and nil for
// the default. What was left as it was shown stays exactly as it is: a word with an equals sign is not what words
// reads.
func (v *visit) tenantSettings() map[string]any {
	settings := map[string]any{}
	for _, d := range tenant.Declared() {
		if isSlotSetting(d.Name) || v.isLeft(settingsPrefix+d.Name) {
			continue
		}
		text := v.form(settingsPrefix + d.Name)
		var value any = text
		switch {
		case text == "":
			value = nil
		case d.Type == "map":
			value = words(text)
		case d.Type != "text": // a number or truth, or a text such as a duration
			var scalar any
			if json.Unmarshal([]byte(text), &scalar) == nil {
				value = scalar
			}
		}
		settings[d.Name] = value
	}
	return settings
}

// words reads lines such as "open = New".
func words(text string) map[string]any {
	read := map[string]any{}
	for line := range strings.Lines(text) {
		if word, means, _ := strings.Cut(line, "="); strings.TrimSpace(line) != "" {
			read[strings.TrimSpace(word)] = strings.TrimSpace(means)
		}
	}
	return read
}

// written returns how a form shows the settings of a tenant.
func written(settings tenant.Settings) (func(name string) string, error) {
	raw, err := json.Marshal(settings)
	if err != nil {
		return nil, fault.From(err)
	}
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fault.From(err)
	}
	return func(name string) string { return writeValue(values[strings.TrimPrefix(name, settingsPrefix)]) }, nil
}

// writeValue writes a value as a field of a form shows it.
func writeValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var words []string
		for _, word := range v {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, ", ")
	case map[string]any:
		var lines []string
		for word, means := range v {
			lines = append(lines, fmt.Sprintf("%s = %v", word, means))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	return writeJSON(value)
}

func writeJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}
