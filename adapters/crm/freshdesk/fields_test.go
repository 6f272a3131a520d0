package freshdesk_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"frontdesk/adapters/crm/freshdesk"
	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// own are the custom fields of an account.
var own = []fake.Field{
	{Name: "cf_room", Type: "custom_text", Required: true}, {Name: "cf_floor", Type: "custom_number"},
	{Name: "cf_urgent", Type: "custom_checkbox"},
	{Name: "cf_region", Type: "custom_dropdown", Choices: []string{"EMEA", "APAC"}},
}

func TestTheSettingFieldsIsSent(t *testing.T) {
	for _, c := range []struct {
		rule   string
		fields map[string]any
		change func(*crm.NewTicket)
		want   string
	}{
		{rule: "of every type, also where a command line gave texts",
			fields: map[string]any{
				"cf_room": "{subject}", "cf_floor": "3", "cf_urgent": "true", "cf_region": "EMEA", "type": "Incident",
				"group_id": float64(fake.Group), "tags": []any{"call"},
			},
			want: `{"custom_fields":{"cf_floor":3,"cf_region":"EMEA","cf_room":"Leaking pipe","cf_urgent":true},"group_id":501000111222,"priority":3,"responder_id":null,"source":3,"status":2,"tags":["call"],"type":"Incident"}`},
		{rule: "in the place of defaults", fields: map[string]any{
			"cf_room": "12", "source": float64(7), "status": float64(7), "priority": float64(4),
			"responder_id": float64(fake.Agent),
		},
			change: func(n *crm.NewTicket) { n.Priority = "" },
			want:   `{"custom_fields":{"cf_room":"12"},"group_id":null,"priority":4,"responder_id":501001202520,"source":7,"status":7,"tags":null,"type":null}`},
		{rule: "where the call gives nothing", fields: map[string]any{
			"cf_room": "12", "status": float64(7), "priority": float64(4), "responder_id": float64(fake.Agent),
		},
			change: func(n *crm.NewTicket) { n.Status, n.Priority, n.OwnerID = "Pending", "Low", id(fake.Colleague) },
			want:   `{"custom_fields":{"cf_room":"12"},"group_id":null,"priority":1,"responder_id":501001202521,"source":3,"status":3,"tags":null,"type":null}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{Fields: own})
			n := pipe()
			if c.change != nil {
				c.change(&n)
			}
			ticket, err := s.with(t, c.fields).Create(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			shown := s.Ticket(ticket.ID)
			got := map[string]any{}
			for _, field := range []string{
				"custom_fields", "group_id", "priority", "responder_id", "source", "status", "tags", "type",
			} {
				got[field] = shown[field]
			}
			if text, _ := json.Marshal(got); string(text) != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestEveryRequestWithFieldsIsAsFreshdeskDescribesThem(t *testing.T) {
	api := described.Open(t, "freshdesk-tickets.openapi.json", "/")
	d := serve(t, fake.Options{Fields: own}, api.Handler).with(t, map[string]any{
		"cf_room": "12", "type": "Incident", "tags": "call",
	})
	if _, err := d.Create(t.Context(), pipe()); err != nil {
		t.Error(err)
	}
	if err := d.(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
		t.Error(err)
	}
	api.Report(t)
}

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	for _, c := range []struct {
		rule   string
		how    fake.Options
		fields map[string]any
		reason string
		says   string
		create bool // fails as well, before anything is sent or by Freshdesk's refusal
	}{
		{rule: "all is well"},
		{rule: "all is well with fields", how: fake.Options{Fields: own, Require: []string{"type", "source"}},
			fields: map[string]any{"cf_room": "{subject}", "type": "Question"}},
		{rule: "a required field of the account's own", how: fake.Options{Fields: own},
			reason: fault.ReasonProviderMisconfigured, says: "cf_room", create: true},
		{rule: "a required field of Freshdesk's own", how: fake.Options{Require: []string{"type"}},
			reason: fault.ReasonProviderMisconfigured, says: "type", create: true},
		{rule: "a field that is not there", fields: map[string]any{"cf_rome": "12"},
			reason: fault.ReasonProviderMisconfigured, says: "cf_rome", create: true},
		{rule: "a value that is no choice", how: fake.Options{Fields: own[3:]},
			fields: map[string]any{"cf_region": "Mars"}, reason: fault.ReasonProviderMisconfigured,
			says: "EMEA, APAC", create: true},
		{rule: "a value of another type", how: fake.Options{Fields: own[1:2]},
			fields: map[string]any{"cf_floor": "third"}, reason: fault.ReasonProviderMisconfigured,
			says: "cf_floor", create: true},
		{rule: "a type that is none", fields: map[string]any{"type": "Complaint"},
			reason: fault.ReasonProviderMisconfigured, says: "Question, Incident", create: true},
		{rule: "a group that is none", fields: map[string]any{"group_id": float64(7)},
			reason: fault.ReasonProviderMisconfigured, says: "group_id", create: true},
		{rule: "an agent that is none", fields: map[string]any{"responder_id": "7"},
			reason: fault.ReasonProviderMisconfigured, says: "responder_id", create: true},
		{rule: "a collaborator", how: fake.Options{AgentType: "collaborator"}, reason: fault.ReasonPermissionDenied,
			says: "collaborator"},
		{rule: "an agent who sees their own tickets alone", how: fake.Options{Scope: 3},
			reason: fault.ReasonPermissionDenied, says: "assigned"},
		{rule: "an agent who sees a group's tickets", how: fake.Options{Scope: 2}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			d := s.with(t, c.fields)
			adaptertest.WantSetup(t, d.(adapter.SetupChecker).CheckSetup(t.Context()), c.reason, c.says)
			if s.Tickets() != 0 {
				t.Error("looking at the setup made a ticket")
			}
			if _, err := d.Create(t.Context(), pipe()); c.create {
				adaptertest.WantSetup(t, err, c.reason, c.says)
			}
		})
	}
}

func TestAFieldThatIsNewIsFoundByAskingAnew(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.with(t, map[string]any{"cf_room": "12"})
	if _, err := d.Create(t.Context(), pipe()); err == nil {
		t.Fatal("a field that is not there was sent")
	}
	s.AddField(fake.Field{Name: "cf_room", Type: "custom_text"})
	if _, err := d.Create(t.Context(), pipe()); err != nil {
		t.Error(err)
	}
}

func TestFieldsThatTheSettingDoesNotTakeAreRefusedWhenGiven(t *testing.T) {
	err := freshdesk.Adapter().Check(adapter.Values{
		Settings: map[string]any{"base_url": "https://acme.freshdesk.com", "requester_email": "calls@example.com",
			"fields": map[string]any{
				"subject": "x", "email": "a@example.com", "requester_id": "1", "cf_a": "{owner}",
			}},
		Credentials: map[string]string{"api_key": "k"},
	})
	if got := named(err); !reflect.DeepEqual(got, []string{"settings.fields.cf_a"}) {
		t.Errorf("named %q", got)
	}
	err = freshdesk.Adapter().Check(adapter.Values{
		Settings: map[string]any{"base_url": "https://acme.freshdesk.com", "requester_email": "calls@example.com",
			"fields": map[string]any{"subject": "x", "email": "a@example.com", "requester_id": "1"}},
		Credentials: map[string]string{"api_key": "k"},
	})
	if got := named(err); !reflect.DeepEqual(got, []string{
		"settings.fields.email", "settings.fields.requester_id", "settings.fields.subject",
	}) {
		t.Errorf("named %q", got)
	}
}
