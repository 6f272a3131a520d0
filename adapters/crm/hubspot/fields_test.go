package hubspot_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/hubspot"
	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// own are the custom properties of an account.
var own = []fake.Field{
	{Name: "region", Type: "enumeration", FieldType: "select", Options: []string{"EMEA", "APAC"}},
	{Name: "floor", Type: "number", FieldType: "number"},
	{Name: "urgent", Type: "bool", FieldType: "booleancheckbox"},
	{Name: "summary", Type: "string", FieldType: "text"},
	{Name: "topics", Type: "enumeration", FieldType: "checkbox", Options: []string{"Heating", "Water"}},
	{Name: "score", Type: "number", FieldType: "number", ReadOnly: true},
}

func with(fields map[string]any) map[string]any { return map[string]any{"fields": fields} }

func TestTheSettingFieldsIsSent(t *testing.T) {
	for _, c := range []struct {
		rule   string
		how    fake.Options
		fields map[string]any
		call   crm.NewTicket
		want   string
	}{
		{rule: "the source is the phone", want: `{"source_type":"PHONE"}`},
		{rule: "where the account does not offer phone, there is no source",
			how: fake.Options{NoPhone: true}, want: `{}`},
		{rule: "of every type", how: fake.Options{Fields: own},
			fields: map[string]any{
				"region": "EMEA", "floor": float64(3), "urgent": true, "summary": "{priority}: {subject}",
				"topics": []any{"Heating", "Water"}, "source_type": "CHAT",
			},
			call: crm.NewTicket{Priority: "High"},
			want: `{"floor":"3","hs_ticket_priority":"HIGH","region":"EMEA","source_type":"CHAT","summary":"High: Broken heating","topics":"Heating;Water","urgent":"true"}`},
		{rule: "where the call gives nothing", fields: map[string]any{
			"content": "By phone: {subject}", "hs_ticket_priority": "LOW", "hubspot_owner_id": float64(6166860),
		},
			want: `{"content":"By phone: Broken heating","hs_ticket_priority":"LOW","hubspot_owner_id":"6166860","source_type":"PHONE"}`},
		{rule: "but not over what the call gives", fields: map[string]any{
			"content": "By phone", "hs_ticket_priority": "LOW", "hubspot_owner_id": "6166860",
		},
			call: crm.NewTicket{Description: "Cold.", Priority: "High", OwnerID: "6166861"},
			want: `{"content":"Cold.","hs_ticket_priority":"HIGH","hubspot_owner_id":"6166861","source_type":"PHONE"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			made := create(t, s.open(t, private, with(c.fields), time.Now), c.call)
			got := map[string]string{}
			for _, name := range []string{
				"content", "floor", "hs_ticket_priority", "hubspot_owner_id", "region", "source_type", "summary",
				"topics", "urgent",
			} {
				if value := s.Property(made.ID, name); value != "" {
					got[name] = value
				}
			}
			if text, _ := json.Marshal(got); string(text) != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestTheSourceIsAskedForOnceInAWhile(t *testing.T) {
	clock := newClock(noon)
	s := serve(t, fake.Options{Now: clock.now})
	d := s.open(t, private, nil, clock.now)
	asked := func() (n int) {
		before := s.Calls()
		create(t, d, crm.NewTicket{})
		for _, call := range since(s, before) {
			if strings.HasSuffix(call, "/source_type") {
				n++
			}
		}
		return n
	}
	if first, second := asked(), asked(); first != 1 || second != 0 {
		t.Errorf("asked %d times, then %d", first, second)
	}
	clock.pass(time.Hour)
	if later := asked(); later != 1 {
		t.Errorf("later asked %d times", later)
	}
}

func TestATicketIsMadeWhereTheSourceCannotBeAskedFor(t *testing.T) {
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/source_type") {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	made := create(t, s.driver(t), crm.NewTicket{})
	if source := s.Property(made.ID, "source_type"); source != "" {
		t.Errorf("the source is %q", source)
	}
}

func TestEveryRequestWithFieldsIsAsHubSpotDescribesThem(t *testing.T) {
	api := described.Open(t, "hubspot-tickets-2026-09.openapi.json", "/")
	s := serve(t, fake.Options{Fields: own, Unique: []string{key}}, api.Handler)
	d := s.open(t, private, map[string]any{"key_property": key,
		"fields": map[string]any{"region": "EMEA", "topics": []any{"Heating"}, "hubspot_owner_id": "6166860"}},
		time.Now)
	create(t, d, crm.NewTicket{})
	if err := d.(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
		t.Error(err)
	}
	api.Report(t)
}

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	const misconfigured, denied = fault.ReasonProviderMisconfigured, fault.ReasonPermissionDenied
	keyed := map[string]any{"key_property": key}
	granted := func(scopes ...string) fake.Options {
		return fake.Options{Tokens: map[string][]string{private: append(scopes, "oauth")}}
	}
	const contacts, companies = "crm.objects.contacts.read", "crm.objects.companies.read"
	for _, c := range []struct {
		rule   string
		how    fake.Options
		more   map[string]any
		reason string
		says   string
		create bool // fails as well
	}{
		{rule: "all is well"},
		{rule: "all is well with the scopes asked for", how: granted("tickets", contacts, companies)},
		{rule: "all is well with scopes of tickets alone",
			how: granted("crm.objects.tickets.read", "crm.objects.tickets.write", contacts, companies)},
		{rule: "all is well with a property for keys", how: fake.Options{Unique: []string{key}}, more: keyed},
		{rule: "all is well with fields", how: fake.Options{Fields: own}, more: with(map[string]any{
			"region": "EMEA", "floor": "3", "urgent": "false", "summary": "{subject}", "topics": []any{"Water"},
			"source_type": "EMAIL", "hubspot_owner_id": "6166860"})},
		{rule: "no property for keys", more: keyed, reason: misconfigured, says: "key_property", create: true},
		{rule: "a property for keys that is not unique", how: fake.Options{Plain: []string{key}}, more: keyed,
			reason: misconfigured, says: key, create: true},
		{rule: "a pipeline that is none", more: map[string]any{"pipeline": "Complaints"}, reason: misconfigured,
			says: "Complaints", create: true},
		{rule: "no scope to make tickets", how: granted("crm.objects.tickets.read", contacts, companies),
			reason: denied, says: "crm.objects.tickets.write", create: true},
		{rule: "no scope to see contacts", how: granted("tickets", companies), reason: denied, says: contacts},
		{rule: "no scope to see companies", how: granted("tickets", contacts), reason: denied, says: companies},
		{rule: "a property that is not there", more: with(map[string]any{"regoin": "EMEA"}), reason: misconfigured,
			says: "regoin", create: true},
		{rule: "a property that nobody sets", how: fake.Options{Fields: own},
			more: with(map[string]any{"score": "7"}), reason: misconfigured, says: "score", create: true},
		{rule: "a property of HubSpot's own that nobody sets", more: with(map[string]any{"hs_object_id": "7"}),
			reason: misconfigured, says: "hs_object_id", create: true},
		{rule: "a value that is no option", how: fake.Options{Fields: own},
			more: with(map[string]any{"region": "Mars"}), reason: misconfigured, says: "region", create: true},
		{rule: "one of several values that is no option", how: fake.Options{Fields: own},
			more: with(map[string]any{"topics": []any{"Water", "Fire"}}), reason: misconfigured,
			says: "topics", create: true},
		{rule: "a value of another type", how: fake.Options{Fields: own},
			more: with(map[string]any{"floor": "third"}), reason: misconfigured, says: "floor", create: true},
		{rule: "a source that is none", more: with(map[string]any{"source_type": "FAX"}), reason: misconfigured,
			says: "source_type", create: true},
		{rule: "an owner who is none", more: with(map[string]any{"hubspot_owner_id": "6166999"}),
			reason: misconfigured, says: "hubspot_owner_id", create: true},
		{rule: "an owner whom the connection may not see", how: granted("tickets", contacts, companies),
			more: with(map[string]any{"hubspot_owner_id": "6166860"})},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			d := s.open(t, private, c.more, time.Now)
			adaptertest.WantSetup(t, d.(adapter.SetupChecker).CheckSetup(t.Context()), c.reason, c.says)
			if s.Count() != 0 {
				t.Error("looking at the setup made a ticket")
			}
			if _, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"}); c.create {
				adaptertest.WantSetup(t, err, c.reason, c.says)
			}
		})
	}
}

func TestAPropertyForKeysThatWasChangedIsFoundByVerifyingAgain(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}})
	d := s.driver(t, "key_property="+key).(adapter.SetupChecker)
	adaptertest.WantSetup(t, d.CheckSetup(t.Context()), "", "")
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"` + key + `","hasUniqueValue":false}`))
	}))
	adaptertest.WantSetup(t, d.CheckSetup(t.Context()), fault.ReasonProviderMisconfigured, key)
}

func TestARepeatedTicketIsFoundThoughAFieldDoesNotFitAnyMore(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}, Fields: own})
	first := create(t, s.driver(t, "key_property="+key), crm.NewTicket{})
	d := s.open(t, private, map[string]any{"key_property": key, "fields": map[string]any{"region": "Mars"}},
		time.Now)
	if again := create(t, d, crm.NewTicket{}); again.ID != first.ID || s.Count() != 1 {
		t.Errorf("made %s, then %s", first.ID, again.ID)
	}
}

func TestFieldsThatTheSettingDoesNotTakeAreRefusedWhenGiven(t *testing.T) {
	err := hubspot.Adapter().Check(adapter.Values{Settings: map[string]any{
		"key_property": key, "api_version": "v3",
		"fields": map[string]any{
			"subject": "x", "hs_pipeline": "0", "hs_pipeline_stage": "1", key: "x", "Region": "EMEA", "region": "EMEA",
		},
	}})
	got := faulttest.Paths(err)
	want := []string{
		"settings.fields." + key, "settings.fields.hs_pipeline", "settings.fields.hs_pipeline_stage",
		"settings.fields.subject", "settings.fields.Region", "settings.api_version",
	}
	if !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
}
