package adapter

import (
	"reflect"
	"strings"
	"testing"

	"frontdesk/core/fault"
)

type request struct {
	Path   string            `setting:"path" required:"true" help:"Where to."`
	Method string            `setting:"method" default:"GET" choices:"GET,POST" help:"How."`
	Expect []int             `setting:"expect" help:"Statuses."`
	Query  map[string]string `setting:"query" help:"Parameters."`
}

type errand struct {
	Steps []request `setting:"steps" required:"true" help:"The requests."`
	Gives string    `setting:"gives" default:"body" help:"What it gives."`
}

type nestedSettings struct {
	Name   string `setting:"name" help:"A name."`
	Errand errand `setting:"errand" help:"An errand."`
	Token  string `credential:"token" help:"A token."`
}

func TestSettingsWithParts(t *testing.T) {
	for _, c := range []struct {
		rule  string
		given map[string]any
		want  errand
	}{
		{"mappings and lists of them are read, with their defaults",
			map[string]any{"errand": map[string]any{"steps": []any{
				map[string]any{"path": "/a", "expect": []any{float64(200), float64(404)}},
				map[string]any{"path": "/b", "method": "POST", "query": map[string]any{"q": "x"}},
			}}},
			errand{Gives: "body", Steps: []request{
				{Path: "/a", Method: "GET", Expect: []int{200, 404}},
				{Path: "/b", Method: "POST", Query: map[string]string{"q": "x"}},
			}}},
		{"a command line gives JSON",
			map[string]any{"errand": `{"gives": "all", "steps": [{"path": "/a", "expect": 201}]}`},
			errand{Gives: "all", Steps: []request{{Path: "/a", Method: "GET", Expect: []int{201}}}}},
		{"what is not given stays empty", map[string]any{"name": "x"}, errand{}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := decoder[nestedSettings]()(Values{Settings: c.given})
			if err != nil {
				t.Fatal(err, fault.From(err).Fields)
			}
			if !reflect.DeepEqual(got.Errand, c.want) {
				t.Errorf("got %+v, want %+v", got.Errand, c.want)
			}
		})
	}
}

func TestEveryFaultInsideIsReportedWithItsPath(t *testing.T) {
	given := map[string]any{"nmae": "x", "errand": map[string]any{
		"gvies": "all",
		"steps": []any{
			map[string]any{"path": "/a", "method": "PUT", "expect": []any{"many"}},
			"GET /b",
			map[string]any{"pth": "/c", "query": []any{}},
		},
	}}
	_, err := decoder[nestedSettings]()(Values{Settings: given, Credentials: map[string]string{"pin": "1"}})
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Path+" "+f.Message)
	}
	want := []string{
		"settings.errand.steps[0].method must be one of GET, POST.",
		"settings.errand.steps[0].expect must be a list of whole numbers.",
		"settings.errand.steps[1] must be a mapping of keys to values.",
		"settings.errand.steps[2].path is required: Where to.",
		"settings.errand.steps[2].query must be a mapping of texts.",
		"settings.errand.steps[2].pth is unknown; known are path, method, expect, query.",
		"settings.errand.gvies is unknown; known are steps, gives.",
		"settings.nmae is unknown; known are settings.name, settings.errand, credentials.token.",
		"credentials.pin is unknown; known are settings.name, settings.errand, credentials.token.",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSettingsWithPartsThatHaveNone(t *testing.T) {
	for given, want := range map[string]string{
		`{"steps": []`: "must be a mapping of keys to values, or that as JSON: it is not JSON.",
		`{"steps": []} {}`: "must be a mapping of keys to values, or that as JSON: it is more than one " +
			"JSON value.",
		`["a"]`:              "must be a mapping of keys to values.",
		`{"steps": {"a":1}}`: "must be a list of mappings of keys to values.",
	} {
		_, err := decoder[nestedSettings]()(Values{Settings: map[string]any{"errand": given}})
		if f := fault.From(err); f == nil || f.Fields[0].Message != want {
			t.Errorf("%s: got %v, want %q", given, err, want)
		}
	}
}

// Credentials are read from where a reference says. A setting of that form would be taken for its value.
func TestAReferenceIsNoSetting(t *testing.T) {
	for _, given := range []string{"env:ACME_CLIENT_ID", "file:/run/secrets/client_id"} {
		_, err := decoder[nestedSettings]()(Values{Settings: map[string]any{"name": given}})
		want := "must be the value itself: env:VAR and file:PATH are read for credentials only."
		if f := fault.From(err); f == nil || f.Fields[0].Path != "settings.name" || f.Fields[0].Message != want {
			t.Errorf("%s: got %v", given, err)
		}
		if _, err := decoder[nestedSettings]()(Values{Credentials: map[string]string{"token": given}}); err != nil {
			t.Errorf("%s as a credential: %v", given, err)
		}
	}
	if _, err := decoder[nestedSettings]()(Values{Settings: map[string]any{"name": "env: production"}}); err != nil {
		t.Error(err)
	}
}

func TestACredentialIsNoPartOfASetting(t *testing.T) {
	type hidden struct {
		Secret string `credential:"secret" help:"A secret."`
	}
	type holder struct {
		Inner hidden `setting:"inner" help:"Holds it."`
	}
	defer func() {
		if recover() == nil {
			t.Error("a declaration with a credential inside an object was taken")
		}
	}()
	fieldsOf[holder]()
}
