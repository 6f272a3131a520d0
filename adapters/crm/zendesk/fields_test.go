package zendesk_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/crm/zendesk"
	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// own are the custom fields of an account.
var own = []fake.Field{
	{ID: 360001, Type: "text", Title: "Room", Always: true}, {ID: 360002, Type: "integer", Title: "Floor"},
	{ID: 360003, Type: "checkbox", Title: "Urgent"},
	{ID: 360004, Type: "tagger", Title: "Region", Options: []string{"emea", "apac"}},
	{ID: 360005, Type: "multiselect", Title: "Topics", Options: []string{"heating", "water"}},
}

func TestTheSettingFieldsIsSent(t *testing.T) {
	for _, c := range []struct {
		rule   string
		fields map[string]any
		call   crm.NewTicket
		want   string
	}{
		{rule: "of every type, also where a command line gave texts", call: pipe("k"),
			fields: map[string]any{
				"360001": "{subject}", "360002": "3", "360003": "true", "360004": "emea",
				"360005": []any{"heating", "water"}, "type": "incident", "group_id": float64(fake.Group), "tags": "call",
			},
			want: `{"assignee_id":null,"custom_fields":[{"id":360001,"value":"Leaking pipe"},{"id":360002,"value":3},{"id":360003,"value":true},{"id":360004,"value":"emea"},` +
				`{"id":360005,"value":["heating","water"]}],"group_id":360000000101,"priority":"high","status":"new","tags":["call"],"type":"incident"}`},
		{rule: "where the call gives nothing", call: crm.NewTicket{Key: "k", Subject: "Leaking pipe"},
			fields: map[string]any{
				"360001": "12", "priority": "low", "status": "pending", "assignee_id": float64(fake.Agent),
			},
			want: `{"assignee_id":20978392000101,"custom_fields":[{"id":360001,"value":"12"},{"id":360002,"value":null},{"id":360003,"value":null},{"id":360004,"value":null},` +
				`{"id":360005,"value":null}],"group_id":null,"priority":"low","status":"pending","tags":null,"type":null}`},
		{rule: "but not over what the call gives", call: crm.NewTicket{
			Key: "k", Subject: "Leaking pipe", Priority: "High", Status: "On-hold", OwnerID: id(fake.Colleague),
		},
			fields: map[string]any{
				"360001": "12", "priority": "low", "status": "pending", "custom_status_id": "6",
				"assignee_id": float64(fake.Agent),
			},
			want: `{"assignee_id":20978392000202,"custom_fields":[{"id":360001,"value":"12"},{"id":360002,"value":null},{"id":360003,"value":null},{"id":360004,"value":null},` +
				`{"id":360005,"value":null}],"group_id":null,"priority":"high","status":"hold","tags":null,"type":null}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{Fields: own})
			ticket, err := s.with(t, c.fields).Create(t.Context(), c.call)
			if err != nil {
				t.Fatal(err)
			}
			shown := s.Ticket(ticket.ID)
			got := map[string]any{}
			for _, field := range []string{
				"assignee_id", "custom_fields", "group_id", "priority", "status", "tags", "type",
			} {
				got[field] = shown[field]
			}
			if text, _ := json.Marshal(got); string(text) != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// undescribed are paths that are missing from the description of the ticketing API.
var undescribed = []string{
	"/oauth/tokens", "/api/v2/oauth/tokens/current", "/api/v2/groups/", "/api/v2/brands/",
	"/api/v2/ticket_forms/",
}

// In the API description, the value of a custom field has the schema of the field's definition, whose id is
// read-only. So none is sent here. "Creating and updating tickets" describes how to send them.
func TestEveryRequestWithFieldsIsAsZendeskDescribesThem(t *testing.T) {
	api := described.Open(t, "zendesk-tickets.openapi.json", "/")
	checked := func(next http.Handler) http.Handler {
		held := api.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.ContainsFunc(undescribed,
				func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
				next.ServeHTTP(w, r)
				return
			}
			held.ServeHTTP(w, r)
		})
	}
	d := byConsent(t, serve(t, fake.Options{}, checked)).with(t, map[string]any{
		"type": "incident", "tags": "call", "assignee_id": float64(fake.Agent),
		"organization_id": float64(fake.Organization), "group_id": float64(fake.Group),
	})
	if _, err := d.Create(t.Context(), pipe("k")); err != nil {
		t.Error(err)
	}
	if err := d.(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
		t.Error(err)
	}
	api.Report(t)
}

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	const misconfigured, denied = fault.ReasonProviderMisconfigured, fault.ReasonPermissionDenied
	solving := []fake.Field{{ID: 360001, Type: "text", Title: "Room", Required: true}}
	for _, c := range []struct {
		rule   string
		how    fake.Options
		fields map[string]any
		reason string
		says   string
		create bool // fails as well
	}{
		{rule: "all is well"},
		{rule: "all is well with fields", how: fake.Options{Fields: own}, fields: map[string]any{
			"360001": "{subject}", "group_id": float64(fake.Group), "brand_id": id(fake.Brand),
			"ticket_form_id": float64(fake.Form), "assignee_id": float64(fake.Colleague),
			"organization_id": float64(fake.Organization), "requester_id": float64(fake.Customer),
			"custom_status_id": float64(6), "type": "question", "priority": "low",
		}},
		{rule: "a field that is not there", fields: map[string]any{"360009": "x"}, reason: misconfigured,
			says: "360009", create: true},
		{rule: "a field that is not active",
			how:    fake.Options{Fields: []fake.Field{{ID: 360001, Type: "text", Inactive: true}}},
			fields: map[string]any{"360001": "x"}, reason: misconfigured, says: "360001", create: true},
		{rule: "a value that is no option", how: fake.Options{Fields: own[3:]},
			fields: map[string]any{"360004": "mars"}, reason: misconfigured, says: "emea, apac", create: true},
		{rule: "one of several values that is no option", how: fake.Options{Fields: own[3:]},
			fields: map[string]any{"360005": []any{"water", "fire"}}, reason: misconfigured,
			says: "fire", create: true},
		{rule: "a value of another type", how: fake.Options{Fields: own[1:2]},
			fields: map[string]any{"360002": "third"}, reason: misconfigured, says: "360002", create: true},
		{rule: "a type that is none", fields: map[string]any{"type": "complaint"}, reason: misconfigured,
			says: "question, incident", create: true},
		{rule: "a status that is none", fields: map[string]any{"status": "closed"}, reason: misconfigured,
			says: "closed", create: true},
		{rule: "a custom status that is not active", fields: map[string]any{"custom_status_id": float64(7)},
			reason: misconfigured, says: "custom_status_id", create: true},
		{rule: "a required field where the setting has tickets solved", how: fake.Options{Fields: solving},
			fields: map[string]any{"status": "solved"}, reason: misconfigured, says: "360001", create: true},
		{rule: "a required field where the setting has a custom status solve them",
			how: fake.Options{Fields: solving}, fields: map[string]any{"custom_status_id": "8"}, reason: misconfigured,
			says: "360001", create: true},
		{rule: "a required field of tickets that are not solved", how: fake.Options{Fields: solving}},
		{rule: "a group that is none", fields: map[string]any{"group_id": float64(7)}, reason: misconfigured,
			says: "group_id"},
		{rule: "a brand that is none", fields: map[string]any{"brand_id": float64(7)}, reason: misconfigured,
			says: "brand_id"},
		{rule: "a form that is none", fields: map[string]any{"ticket_form_id": float64(7)}, reason: misconfigured,
			says: "ticket_form_id"},
		{rule: "an organization that is none", fields: map[string]any{"organization_id": float64(7)},
			reason: misconfigured, says: "organization_id", create: true},
		{rule: "an assignee that is none", fields: map[string]any{"assignee_id": float64(7)}, reason: misconfigured,
			says: "assignee_id", create: true},
		{rule: "an assignee who is a customer", fields: map[string]any{"assignee_id": float64(fake.Customer)},
			reason: misconfigured, says: "assignee_id", create: true},
		{rule: "a customer's credentials", how: fake.Options{Role: "end-user"}, reason: denied, says: "customer"},
		{rule: "a light agent", how: fake.Options{RoleType: 1}, reason: denied, says: "light agent"},
		{rule: "a contributor", how: fake.Options{RoleType: 3}, reason: denied, says: "contributor"},
		{rule: "an admin", how: fake.Options{Role: "admin", RoleType: 4}},
		{rule: "an agent who sees their own tickets alone", how: fake.Options{Restriction: "assigned"},
			reason: denied, says: "assigned"},
		{rule: "an agent who sees their groups' tickets", how: fake.Options{Restriction: "groups"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			d := s.with(t, c.fields)
			adaptertest.WantSetup(t, d.(adapter.SetupChecker).CheckSetup(t.Context()), c.reason, c.says)
			if s.Tickets() != 0 {
				t.Error("looking at the setup made a ticket")
			}
			if _, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Leaking pipe"}); c.create {
				adaptertest.WantSetup(t, err, c.reason, c.says)
			}
		})
	}
}

func TestARequiredFieldThatNothingSetsIsToldByCreating(t *testing.T) {
	s := serve(t, fake.Options{Fields: own})
	_, err := s.open(t).Create(t.Context(), pipe("k"))
	adaptertest.WantSetup(t, err, fault.ReasonProviderMisconfigured, "360001")
	s = serve(t, fake.Options{Fields: []fake.Field{{ID: 360001, Type: "text", Title: "Room", Required: true}}})
	_, err = s.open(t).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Leaking pipe", Status: "Solved"})
	adaptertest.WantSetup(t, err, fault.ReasonProviderMisconfigured, "360001")
}

func TestATokenThatMayNotWriteIsFoundByVerifying(t *testing.T) {
	for _, c := range []struct {
		scopes []string
		reason string
	}{
		{nil, ""}, {[]string{"read", "tickets:write"}, ""}, {[]string{"read"}, fault.ReasonPermissionDenied},
		{[]string{"read", "users:write"}, fault.ReasonPermissionDenied},
	} {
		const token = "an-access-token"
		s := serve(t, fake.Options{AccessToken: token, Scopes: c.scopes})
		s.credentials = map[string]string{"access_token": "withheld"}
		s.authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+token); return nil }
		adaptertest.WantSetup(t, s.open(t).(adapter.SetupChecker).CheckSetup(t.Context()), c.reason, "tickets:write")
	}
	s := byConsent(t, serve(t, fake.Options{}))
	adaptertest.WantSetup(t, s.open(t).(adapter.SetupChecker).CheckSetup(t.Context()), "", "")
}

func TestAFieldThatIsNewIsFoundByAskingAnew(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.with(t, map[string]any{"360001": "12"})
	if _, err := d.Create(t.Context(), pipe("k")); err == nil {
		t.Fatal("a field that is not there was sent")
	}
	s.AddField(fake.Field{ID: 360001, Type: "text"})
	if _, err := d.Create(t.Context(), pipe("k")); err != nil {
		t.Error(err)
	}
}

func TestFieldsThatTheSettingDoesNotTakeAreRefusedWhenGiven(t *testing.T) {
	err := zendesk.Adapter().Check(adapter.Values{Settings: map[string]any{
		"base_url": "https://acme.zendesk.com", "fields": map[string]any{
			"subject": "x", "external_id": "x", "via_id": "45", "room": "12", "360001": "12", "tags": "a",
		},
	}})
	got := faulttest.Paths(err)
	if want := []string{
		"settings.fields.external_id", "settings.fields.subject", "settings.fields.via_id", "settings.fields.room",
	}; !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
}
