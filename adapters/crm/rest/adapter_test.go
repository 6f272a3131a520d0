package rest_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/crm/rest"
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

func TestTheExamplesAreWholeConnections(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]adapter.Auth{
		"request-tracker.yaml": {Scheme: adapter.Basic, Username: "username", Password: "password",
			BaseURL: "base_url"},
		"redmine.yaml": {Scheme: adapter.Header, Password: "token", HeaderName: "X-Redmine-API-Key",
			BaseURL: "base_url"},
	} {
		c := example(t, file)
		if c.Kind != string(adapter.KindCRM) || c.Provider != "rest" {
			t.Errorf("%s connects %s %s", file, c.Kind, c.Provider)
		}
		values := adapter.Values{Settings: c.Settings, Credentials: c.Credentials}
		if err := rest.Adapter().Check(values); err != nil {
			t.Errorf("%s: %v", file, fault.From(err).Fields)
			continue
		}
		a, err := rest.Adapter().With(values)
		if err != nil || a.Auth != want {
			t.Errorf("%s: %+v, %v", file, a.Auth, fault.From(err))
		}
	}
}

func TestTheGuidesExamplesAreWhole(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "smallest possible settings:\n\n```yaml\n")
	settings, _, found := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```yaml\nfind_contacts:")
	callers, _, _ := strings.Cut(rest, "```")
	if !found || callers == "" {
		t.Fatal("the guide has no example")
	}
	settings += "find_contacts:" + callers
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	text := "tenants:\n- name: a\n  connections:\n  - name: b\n    kind: crm\n    provider: rest\n    " +
		"settings:\n      " +
		strings.ReplaceAll(settings, "\n", "\n      ")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := config.LoadTenants(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := wrongIn(read.Tenants[0].Connections[0].Settings, nil); wrong != nil {
		t.Errorf("%q", wrong)
	}
}

// wrongIn returns the faults of settings and credentials.
func wrongIn(settings object, credentials map[string]string) []string {
	_, err := rest.Adapter().With(adapter.Values{Settings: settings, Credentials: credentials})
	var wrong []string
	if f := fault.From(err); f != nil {
		for _, field := range f.Fields {
			wrong = append(wrong, field.Path+" "+field.Message)
		}
	}
	return wrong
}

func TestEveryMistakeIsReportedWithItsPlace(t *testing.T) {
	t.Parallel()
	step := func(changes object) object {
		s := object{"name": "ticket", "path": "tickets/{.number}"}
		maps.Copy(s, changes)
		return s
	}
	got := func(changes ...object) object {
		steps := []any{}
		for _, c := range changes {
			steps = append(steps, step(c))
		}
		return object{"get": object{"steps": steps}}
	}
	for _, c := range []struct {
		changes object
		want    []string
	}{
		{object{}, nil},
		{object{"base_url": "https://desk.example/api?x=1", "number_pattern": "[", "time_zone": "Local",
			"number_width": float64(-1), "max_concurrent": float64(-1)}, []string{
			"settings.base_url must not have a query or fragment; each step has its own parameters.",
			"settings.number_pattern is not a regular expression: missing closing ]: `[`.",
			"settings.time_zone must be an IANA time zone, such as Europe/Berlin.",
			"settings.number_width must not be negative.", "settings.max_concurrent must not be negative.",
		}},
		{object{"number_pattern": "(?:" + strings.Repeat("a", 3000) + "){1000}"},
			[]string{"settings.number_pattern is too large a regular expression."}},
		{object{"headers": object{"authorization": "x", "Host": "x", "a b": "x"},
			"idempotency_header": "Content-Type", "auth_header": "X Y"}, []string{
			"settings.idempotency_header is set by the gateway.", "settings.auth_header must be the name of a header.",
			"settings.headers.Host is set by the gateway.", "settings.headers.a b must be the name of a header.",
			"settings.headers.authorization is set from the credentials.",
			"credentials.token is required with auth_header and auth_prefix.",
		}},
		{got(object{"when": ".a.b)", "query": object{"q": "x {.y"}, "headers": object{"X-A": "a } b"}},
			object{"name": "2nd", "path": "tickets?id={.number}"}, object{"path": "tickets/../{.number}"},
			object{"name": "p", "path": "a%zz"}), []string{
			`settings.get.steps[0].query.q has a "{" at character 3 without a "}" after it; write "{{" for a brace.`,
			`settings.get.steps[0].headers.X-A has a "}" at character 3 without a "{" before it; ` +
				`write "}}" for a brace.`,
			`settings.get.steps[0].when is not a jq expression: unexpected token ")" at character 5 of ".a.b)".`,
			"settings.get.steps[1].name must be letters, digits and underscores, not beginning with a digit.",
			"settings.get.steps[1].path must be only a path; put parameters into query, and escape other characters.",
			"settings.get.steps[2].name is already the name of an earlier step.",
			`settings.get.steps[2].path must not have "." or ".." among its segments.`,
			`settings.get.steps[3].path has a "%" that does not begin an escape; write "%25" for a percent sign.`,
		}},
		{got(object{"path": "a/{.x | nope}/b", "body": "{}", "expect": []any{float64(100)}},
			object{"name": "b", "method": "POST"}), []string{
			"settings.get.steps[0].path from character 4 on cannot be used as a jq expression: function not " +
				"defined: nope/0.",
			"settings.get.steps[0].body cannot be sent with GET.",
			"settings.get.steps[0].expect must be statuses from 200 to 599.",
			"settings.get.steps[1].method may change something, which this operation must not do; set reads: true " +
				"if it only reads.",
		}},
		{object{"get": object{"steps": []any{}},
			"faults": []any{object{"fault": "conflict", "field": "status"},
				object{"fault": "invalid", "status": float64(400), "match": "."}}}, []string{
			"settings.faults[0] must have a status or a match, or else it would apply to every answer.",
			"settings.faults[0].field is only for fault: invalid.",
			"settings.get.steps must have a step.",
			"settings.ticket.id uses .steps.ticket, which does not exist.",
			"settings.ticket.number uses .steps.ticket, which does not exist.",
			"settings.ticket.subject uses .steps.ticket, which does not exist.",
		}},
		{object{"create": object{"steps": []any{step(nil)}}, "ticket": object{
			"id": "1", "number": "1",
		},
			"statuses": []any{"Open"}, "vocabulary": object{"statuses": "[]"}}, []string{
			"settings.statuses cannot be combined with vocabulary.statuses.",
			"settings.create must have either number, so that get reads the new ticket back, or ticket.",
			"settings.create.steps must have a step that opens the ticket: one whose method is not GET.",
		}},
		{object{"vocabulary": object{"steps": []any{step(nil)}}},
			[]string{"settings.vocabulary has steps but uses none of their answers; give statuses or priorities."}},
		{object{"get": object{"steps": many(11)}, "ticket": object{"id": "1", "number": "1", "subject": `"A"`}},
			[]string{"settings.get.steps must be at most 10."}},
		// Names that are nowhere would be null, and responses may have members of these names.
		{object{"create": object{"number": ".steps.creat.body.ticket.id", "steps": []any{
			object{"name": "create", "method": "POST", "path": "a/{.steps.me.body.ticket.id}",
				"body": "{title: .ticket.subjct, last: .steps.me.body.steps.last, " +
					"id: (.steps.me.body | .ticket.id)}"}}}}, []string{
			"settings.create.steps[0].body uses .ticket.subjct, which does not exist.",
			"settings.create.number uses .steps.creat, which does not exist.",
		}},
		{object{
			"create": object{"number": "1", "steps": []any{
				object{"name": "create", "method": "POST", "path": "tickets", "body": "{title: .ticket.subject}"}}},
			"by_key": object{"number": ".steps.find.body.id",
				"steps": []any{object{"name": "find", "path": "newest"}}},
			"find_contacts": object{"contacts": "[]", "steps": []any{}},
			"open_tickets":  object{"tickets": ".steps.all.body", "steps": []any{object{"name": "all", "path": "all"}}},
		}, []string{
			"settings.open_tickets must use .contact_id: otherwise everybody has the same tickets.",
			"settings.by_key must use .key: otherwise every call has the same ticket.",
			"settings.create.steps must send .key: otherwise by_key finds no ticket, and each is opened once more.",
		}},
		// Nothing is looked for in comments, texts, words, and values that have members of their own.
		{object{"create": object{"number": "# once .steps.first.body.id\n{steps: {a: 1}}.steps.a", "steps": []any{
			object{"name": "create", "method": "POST", "path": "tickets", "query": object{"fields": "id .ticket.title"},
				"body": `{title: .ticket.subject, note: "see .steps.one"}`},
			object{"name": "next", "method": "POST", "path": "tickets",
				"body": `(.ticket.title = .ticket.subject | .ticket) + reduce .key as $k ({}; .ticket.id = $k)`}}}}, nil},
		// What reads all members reads those that are needed. The headers of the connection go with every request.
		{object{
			"create": object{"number": "1", "steps": []any{
				object{"name": "create", "method": "POST", "path": "tickets", "body": "del(.steps)"}}},
			"by_key": object{"number": ".steps.find.body.id", "steps": []any{
				object{"name": "find", "method": "POST", "reads": true, "path": "find", "body": "."}}},
			"find_contacts": object{"contacts": "[]", "steps": []any{}},
			"open_tickets":  object{"tickets": ".steps.all.body", "steps": []any{object{"name": "all", "path": "all"}}},
			"headers":       object{"X-Person": "{.contact_id}"},
		}, nil},
	} {
		if got := wrongIn(plain("https://desk.example", c.changes), nil); !slices.Equal(got, c.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	if wrong := wrongIn(plain("https://desk.example", object{"number_pattern": "1)|(?:.*"}),
		nil); len(wrong) != 1 {
		t.Errorf("a pattern that ends its own frame: %q", wrong)
	}
	s := serve(t, says(nil), anonymous)
	if _, err := s.tryOpen(t, plain(s.url, object{"number_pattern": "["})); fault.From(err) == nil ||
		fault.From(err).Fields[0].Path != "settings.number_pattern" {
		t.Errorf("opened with settings that cannot be used: %v", err)
	}
}

func many(n int) []any {
	steps := []any{}
	for i := range n {
		steps = append(steps, object{"name": "s" + string(rune('a'+i)), "path": "x"})
	}
	return steps
}

func TestTheWayToAuthoriseIsChosenByWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule        string
		settings    object
		credentials map[string]string
		want        adapter.Auth
		wrong       []string
	}{
		{"nothing", nil, nil, adapter.Auth{BaseURL: "base_url"}, nil},
		{"user and password", nil, map[string]string{"username": "u", "password": "p"},
			adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "base_url"}, nil},
		{"a user alone", nil, map[string]string{"username": "u"}, adapter.Auth{},
			[]string{"credentials.password is required with username."}},
		{"a token", nil, map[string]string{"token": "t"},
			adapter.Auth{Scheme: adapter.Header, Password: "token", HeaderName: "Authorization", Prefix: "Bearer ",
				BaseURL: "base_url"}, nil},
		{"a token with a word of its own", object{"auth_prefix": "token "}, map[string]string{"token": "t"},
			adapter.Auth{Scheme: adapter.Header, Password: "token", HeaderName: "Authorization", Prefix: "token ",
				BaseURL: "base_url"}, nil},
		{"a token in a header of its own", object{"auth_header": "X-Key"}, map[string]string{"token": "t"},
			adapter.Auth{Scheme: adapter.Header, Password: "token", HeaderName: "X-Key", BaseURL: "base_url"}, nil},
		{"two ways", nil, map[string]string{"token": "t", "username": "u", "password": "p"}, adapter.Auth{},
			[]string{"credentials are more than one way to authorise: username and password, token. Choose one."}},
		{"OAuth without where", nil, map[string]string{"client_secret": "s"}, adapter.Auth{},
			[]string{"settings.token_url is required with OAuth.", "settings.client_id is required with OAuth."}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			values := adapter.Values{Settings: plain("https://desk.example", c.settings), Credentials: c.credentials}
			a, _ := rest.Adapter().With(values)
			if wrong := wrongIn(values.Settings, c.credentials); a.Auth != c.want || !slices.Equal(wrong, c.wrong) {
				t.Errorf("got %+v, %q", a.Auth, wrong)
			}
		})
	}
}

func TestTokensOfOAuth(t *testing.T) {
	t.Parallel()
	oauth := object{
		"token_url": "https://desk.example/token", "client_id": "me", "scopes": []any{"read", "write"},
	}
	for _, c := range []struct {
		rule        string
		settings    object
		credentials map[string]string
		want        adapter.Flow
	}{
		{"a client for itself", nil, map[string]string{"client_secret": "s"}, adapter.ClientCredentials},
		{"a refresh token", nil, map[string]string{"client_secret": "s", "refresh_token": "r"}, adapter.Consent},
		{"consent", object{"auth_url": "https://desk.example/authorize"}, map[string]string{"client_secret": "s"},
			adapter.Consent},
	} {
		t.Run(c.rule, func(t *testing.T) {
			settings := plain("https://desk.example", oauth)
			maps.Copy(settings, c.settings)
			values := adapter.Values{Settings: settings, Credentials: c.credentials}
			a, err := rest.Adapter().With(values)
			if err != nil {
				t.Fatal(fault.From(err).Fields)
			}
			if err := a.CheckGrant(values, nil); err != nil || a.Auth.Scheme != adapter.OAuth2 ||
				a.Auth.BaseURL != "base_url" {
				t.Errorf("%+v, %v", a.Auth, err)
			}
			g, err := a.Auth.OAuth.Grant(values, nil)
			if err != nil || g.Flow != c.want || !g.TenantAddress || g.TokenURL != "https://desk.example/token" ||
				g.ClientID != "me" || !slices.Equal(g.ScopeNames(), []string{"read", "write"}) {
				t.Errorf("%+v, %v", g, err)
			}
		})
	}
}
