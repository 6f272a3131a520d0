package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

const tenantsExample = "tenants.example.yaml"

func TestTenantsExampleIsRead(t *testing.T) {
	got, err := LoadTenants(tenantsExample, []string{
		"ACME_CALDAV_USERNAME=desk@acme.example", "ACME_CALDAV_PASSWORD=open sesame",
		"ACME_GOOGLE_REFRESH_TOKEN=1//open-sesame", "ACME_RETELL_API_KEY=key_open_sesame",
	})
	if err != nil {
		t.Fatal(err)
	}
	tenMinutes, none := 10*time.Minute, time.Duration(0)
	number := func(n int) *int { return &n }
	want := Tenants{Tenants: []Tenant{
		{Name: "demo", Connections: []Connection{
			{Name: "calendar", Kind: "calendar", Provider: "sandbox"},
			{Name: "tickets", Kind: "crm", Provider: "sandbox"},
			{Name: "numbers", Kind: "telephony", Provider: "sandbox"},
		}},
		{Name: "acme", DisplayName: "Acme Dental Care", Timezone: "America/New_York", PreventDoubleBooking: true, RejectPast: true,
			DedupeWindow: &tenMinutes, TicketDedupeWindow: &none, MaxPurchasesPerDay: number(5),
			MaxPhoneNumbers: number(25),
			StatusWords:     map[string]string{"fresh": "New"},
			PriorityWords:   map[string]string{"urgent": "High", "whenever you can": "Low"},
			OpenHours: map[string]string{
				"monday": "09:00-12:30, 14:00-18:00", "friday": "09:00-12:30", "2026-12-25": "closed",
			},
			DurationMinutes: number(45), SlotIntervalMinutes: number(15), BufferBeforeMinutes: number(5),
			BufferAfterMinutes: number(10), MinimumNoticeMinutes: number(120), BookingWindowDays: number(60),
			TentativeAsBusy:  new(bool),
			UnverifiedCaller: []string{"name", "account"},
			Connections: []Connection{
				{Name: "front-office", Kind: "calendar", Provider: "caldav", Default: true,
					Settings:    map[string]any{"url": "https://cal.acme.example/dav/"},
					Credentials: map[string]string{"username": "desk@acme.example", "password": "open sesame"}},
				{Name: "partners", Kind: "calendar", Provider: "google",
					Settings:    map[string]any{"calendar_id": "primary"},
					Credentials: map[string]string{"refresh_token": "1//open-sesame"}},
				{Name: "helpdesk", Kind: "crm", Provider: "salesforce", Settings: map[string]any{"fields": map[string]any{
					"Region__c": "EMEA", "Callback__c": true, "Topics__c": []any{"Heating", "Water"},
					"Summary__c": "Call: {subject}",
				}}},
				{Name: "rehearsal", Kind: "calendar", Provider: "sandbox"},
			},
			Agents: []Agent{{
				Name: "reception", Platform: "retell", Scopes: []string{"calendar:read", "calendar:write"},
				Connections: []string{"front-office"}, Credentials: &AgentCredentials{Signing: "key_open_sesame"},
			}}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

// TestTenantsExampleShowsEveryKey checks that the example stays complete when a key is added.
func TestTenantsExampleShowsEveryKey(t *testing.T) {
	raw, err := os.ReadFile(tenantsExample)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	collect(tree, "", shown)
	for _, path := range pathsOf(reflect.TypeFor[Tenants](), "") {
		if !shown[path] {
			t.Errorf("%s does not show %s", tenantsExample, path)
		}
	}
}

func collect(node any, path string, into map[string]bool) {
	switch n := node.(type) {
	case map[string]any:
		for name, child := range n {
			into[join(path, name)] = true
			collect(child, join(path, name), into)
		}
	case []any:
		for _, child := range n {
			collect(child, path+"[]", into)
		}
	}
}

func TestFaultsOfTenants(t *testing.T) {
	const good = "tenants: [{name: acme, connections: [{name: a, kind: calendar, provider: sandbox"
	for _, rule := range []struct{ name, yaml, want string }{
		{"empty file", "", "tenants is required: a list, which may be empty ([])."},
		{"no list", "tenants:", "tenants is required: a list, which may be empty ([])."},
		{"unknown key", "tenants: []\ntenant: []", "tenant is not a known key; did you mean tenants?"},
		{"unknown key of a tenant", "tenants: [{name: a}, {name: b, time_zone: UTC}]",
			"tenants[1].time_zone is not a known key; did you mean tenants[].timezone?"},
		{"unknown key of a connection", good + ", provder: x}]}]",
			"tenants[0].connections[0].provder is not a known key; did you mean tenants[].connections[].provider?"},
		{"name missing", "tenants: [{timezone: UTC}]",
			"tenants[0].name is required: The tenant's name: lower-case letters, digits and hyphens."},
		{"kind missing", "tenants: [{name: a, connections: [{name: b, provider: c}]}]",
			"tenants[0].connections[0].kind is required: What the connection is for."},
		{"unknown kind", "tenants: [{name: a, connections: [{name: b, provider: c, kind: fax}]}]",
			"tenants[0].connections[0].kind must be one of calendar, crm, telephony."},
		{"duration", "tenants: [{name: a, dedupe_window: 10}]",
			"tenants[0].dedupe_window must be a duration such as 500ms, 8s or 72h from 0s to 24h."},
		{"yes for a boolean", "tenants: [{name: a, reject_past: yes}]",
			"tenants[0].reject_past must be true or false, without quotes."},
		{"word that is a number", "tenants: [{name: a, status_words: {one: 1}}]",
			"tenants[0].status_words.one must be text; put it in quotes."},
		{"a secret that no agent has",
			"tenants: [{name: a, agents: [{name: b, platform: tools, credentials: {sign: 'env:canary'}}]}]",
			"tenants[0].agents[0].credentials.sign is not a known key."},
		{"an agent's secret written out",
			"tenants: [{name: a, agents: [{name: b, platform: tools, credentials: {signing: canary}}]}]",
			"tenants[0].agents[0].credentials.signing must say where the secret is, as env:VAR or file:PATH; " +
				"do not write the secret itself here."},
		{"scope without quotes in braces",
			"tenants: [{name: a, agents: [{name: b, platform: tools, scopes: [calendar:read]}]}]",
			"tenants[0].agents[0].scopes[0] must be text, not a mapping; put text with a colon in quotes."},
		{"mapping for a number", "tenants: [{name: a, duration_minutes: {b: 1}}]",
			"tenants[0].duration_minutes must be a whole number from 1 to 1440, not a mapping."},
		{"secret written out", good + ", credentials: {password: canary}}]}]",
			"tenants[0].connections[0].credentials.password must say where the secret is, as env:VAR or file:PATH; " +
				"do not write the secret itself here."},
		{"secret after env:", good + ", credentials: {password: 'env:ca nary'}}]}]",
			"tenants[0].connections[0].credentials.password must say where the secret is, as env:VAR or file:PATH; " +
				"do not write the secret itself here."},
		{"secret that is a number", good + ", credentials: {password: 1234}}]}]",
			"tenants[0].connections[0].credentials.password must say where the secret is, as env:VAR or file:PATH; " +
				"do not write the secret itself here."},
		{"secret from standard input", good + ", credentials: {password: '-'}}]}]",
			"tenants[0].connections[0].credentials.password cannot be standard input (-) here; " +
				"use env:VAR or file:PATH."},
		{"variable not set", good + ", credentials: {password: 'env:NOT_SET'}}]}]",
			"tenants[0].connections[0].credentials.password names the variable NOT_SET, which is not set."},
		{"setting that JSON lacks", good + ", settings: {x: .inf}}]}]",
			"tenants[0].connections[0].settings.x must be a finite number."},
		{"setting beyond a number", good + ", settings: {x: 9007199254740993}}]}]",
			"tenants[0].connections[0].settings.x is too large for a number; put it in quotes."},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := parseTenants("tenants.yaml", []byte(rule.yaml), nil)
			want := "tenants.yaml cannot be used:\n  " + rule.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestSettingsAreJSONValues(t *testing.T) {
	got, err := parseTenants("", []byte(`
tenants:
  - name: a
    connections:
      - {name: b, kind: crm, provider: rest, settings: {n: 5, f: -1.5, b: true, t: "5", l: [1, x], m: {k: v}, none: ~}, credentials: {}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Tenants[0].Connections[0]
	want := map[string]any{
		"n": 5.0, "f": -1.5, "b": true, "t": "5", "l": []any{1.0, "x"}, "m": map[string]any{"k": "v"},
	}
	if !reflect.DeepEqual(c.Settings, want) {
		t.Errorf("settings = %#v, want %#v", c.Settings, want)
	}
	if c.Credentials == nil || len(c.Credentials) != 0 {
		t.Errorf("credentials {} = %#v, want none rather than not given", c.Credentials)
	}
}

func TestSecretSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	environ := []string{"TOKEN=a=b", "EMPTY=", "LINE=secret\n"}
	for _, rule := range []struct{ name, source, stdin, want, wrong string }{
		{"variable", "env:TOKEN", "", "a=b", ""},
		{"variable with a line break, as Kubernetes has from a file", "env:LINE", "", "secret", ""},
		{"file with a byte order mark", file("marked", "\ufeffsecret\r\n"), "", "secret", ""},
		{"variable that is empty", "env:EMPTY", "", "", "is empty"},
		{"variable that is not set", "env:NONE", "", "", "is not set"},
		{"file without its line break", file("plain", "secret\n"), "", "secret", ""},
		{"file with a Windows line break", file("windows", "secret\r\n"), "", "secret", ""},
		{"file of several lines", file("pem", "one\ntwo\n"), "", "one\ntwo", ""},
		{"file that is empty", file("empty", "\n"), "", "", "is empty"},
		{"file that is not there", "file:" + dir + "/none", "", "", "no such file"},
		{"file that is too large", file("large", strings.Repeat("x", maxSecretBytes+1)), "", "",
			"too long for a secret"},
		{"standard input", "-", "typed\n", "typed", ""},
		{"a literal", "canary", "", "", "do not write the secret itself here"},
		{"nothing", "", "", "", "do not write the secret itself here"},
		{"a scheme without a rest", "file:", "", "", "do not write the secret itself here"},
	} {
		t.Run(rule.name, func(t *testing.T) {
			got, err := Resolve(SecretSource(rule.source), environ, strings.NewReader(rule.stdin))
			if rule.wrong == "" && (err != nil || got != rule.want) {
				t.Errorf("got %q, %v", got, err)
			}
			if rule.wrong != "" &&
				(err == nil || !strings.Contains(err.Error(), rule.wrong) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("got %v, want ... %s", err, rule.wrong)
			}
		})
	}
}

// FuzzLoadTenants checks that every file leads to tenants or an explanation.
func FuzzLoadTenants(f *testing.F) {
	example, err := os.ReadFile(tenantsExample)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add("tenants: [{name: a, connections: [{name: b, settings: {x: [{}]}, credentials: {x: 'env:Y'}}]}]")
	f.Add("tenants: &t [*t]")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTenants("tenants.yaml", []byte(text), []string{"Y=canary"})
		if err == nil && got.Tenants == nil {
			t.Error("neither tenants nor an error")
		}
		if err != nil && strings.Contains(err.Error(), "canary") && !strings.Contains(text, "canary") {
			t.Errorf("a secret in an error: %v", err)
		}
	})
}
