package salesforce_test

import (
	"encoding/json"
	"slices"
	"testing"

	"frontdesk/adapters/crm/salesforce"
	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// own are the custom fields of an organisation.
var own = []fake.Field{
	{Name: "Region__c", Type: "picklist", Required: true, Values: []fake.Value{
		{Value: "EMEA"}, {Value: "APAC"}, {Value: "Mars", Inactive: true},
	}},
	{Name: "Floor__c", Type: "double"}, {Name: "Urgent__c", Type: "boolean"},
	{Name: "Summary__c", Type: "string"},
	{Name: "Topics__c", Type: "multipicklist", Values: []fake.Value{{Value: "Heating"}, {Value: "Water"}}},
}

func with(fields map[string]any) map[string]any { return map[string]any{"fields": fields} }

func TestTheSettingFieldsIsSent(t *testing.T) {
	call := crm.NewTicket{Key: "k", Subject: "A pipe", Priority: "High"}
	for _, c := range []struct {
		rule   string
		how    fake.Options
		fields map[string]any
		call   crm.NewTicket
		want   string
	}{
		{rule: "the origin is the phone", call: call,
			want: `{"Description":null,"Origin":"Phone","OwnerId":"` + fake.DefaultOwner + `","Priority":"High"}`},
		{rule: "where phone is no active value, there is no origin",
			how: fake.Options{Origins: []fake.Value{{Value: "Phone", Inactive: true}, {Value: "Web"}}}, call: call,
			want: `{"Description":null,"Origin":null,"OwnerId":"` + fake.DefaultOwner + `","Priority":"High"}`},
		{rule: "where the user may not set it, there is no origin",
			how: fake.Options{ReadOnly: []string{"Origin"}}, call: call,
			want: `{"Description":null,"Origin":null,"OwnerId":"` + fake.DefaultOwner + `","Priority":"High"}`},
		{rule: "of every type, also where a command line gave texts", how: fake.Options{Fields: own}, call: call,
			fields: map[string]any{
				"Region__c": "EMEA", "Floor__c": "3.5", "Urgent__c": "true", "Summary__c": "{priority}: {subject}",
				"Topics__c": []any{"Heating", "Water"}, "Origin": "Web",
			},
			want: `{"Description":null,"Floor__c":3.5,"Origin":"Web","OwnerId":"` + fake.DefaultOwner +
				`","Priority":"High","Region__c":"EMEA","Summary__c":"High: A pipe","Topics__c":"Heating;Water","Urgent__c":true}`},
		{rule: "where the call gives nothing", call: crm.NewTicket{Key: "k", Subject: "A pipe"},
			fields: map[string]any{"Description": "By phone: {subject}", "Priority": "Low", "OwnerId": fake.Queue},
			want: `{"Description":"By phone: A pipe","Origin":"Phone","OwnerId":"` + fake.Queue +
				`","Priority":"Low"}`},
		{rule: "but not over what the call gives", call: crm.NewTicket{
			Key: "k", Subject: "A pipe", Description: "Water.", Priority: "High", OwnerID: fake.Owner,
		},
			fields: map[string]any{"Description": "By phone", "Priority": "Low", "OwnerId": fake.Queue},
			want:   `{"Description":"Water.","Origin":"Phone","OwnerId":"` + fake.Owner + `","Priority":"High"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			made := create(t, s.open(t, with(c.fields)), c.call)
			stored, got := s.Case(made.ID), map[string]any{}
			for _, field := range []string{"Description", "Origin", "OwnerId", "Priority"} {
				got[field] = stored[field]
			}
			for _, field := range c.how.Fields {
				got[field.Name] = stored[field.Name]
			}
			if text, _ := json.Marshal(got); string(text) != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestAnOriginThatIsNoneAnyMoreIsLeftOutNextTime(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	create(t, d, crm.NewTicket{Subject: "A pipe"})
	s.Origins(fake.Value{Value: "Web"})
	if _, err := d.Create(t.Context(), crm.NewTicket{Subject: "A pipe"}); err == nil {
		t.Fatal("a value that is none was taken")
	}
	create(t, d, crm.NewTicket{Subject: "A pipe"})
}

func TestEveryRequestWithFieldsIsAsSalesforceDescribesThem(t *testing.T) {
	api := described.Open(t, "salesforce-case.openapi.json", "")
	d := serve(t, fake.Options{Fields: own, ExternalID: keyField}, checking(api)).open(t, map[string]any{
		"external_id_field": keyField, "fields": map[string]any{
			"Region__c": "EMEA", "Topics__c": "Water", "OwnerId": fake.Queue,
		},
	})
	create(t, d, crm.NewTicket{Key: "k", Subject: "A pipe"})
	if err := d.(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
		t.Error(err)
	}
	api.Report(t)
}

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	const misconfigured, denied = fault.ReasonProviderMisconfigured, fault.ReasonPermissionDenied
	keyed := map[string]any{"external_id_field": keyField}
	for _, c := range []struct {
		rule   string
		how    fake.Options
		more   map[string]any
		reason string
		says   string
		create bool // fails as well
	}{
		{rule: "all is well"},
		{rule: "all is well with a field for keys", how: fake.Options{ExternalID: keyField}, more: keyed},
		{rule: "all is well with fields", how: fake.Options{
			Fields: own, Required: []string{"Origin", "Description"},
		},
			more: with(map[string]any{
				"Region__c": "EMEA", "OwnerId": fake.Queue, "AccountId": fake.Account, "Summary__c": fake.Contact,
				"Description": "{subject}",
			})},
		{rule: "no permission to create cases", how: fake.Options{NoCreate: true}, reason: denied,
			says: "create cases", create: true},
		{rule: "a field that the user does not see", how: fake.Options{Hidden: []string{"AccountId"}},
			reason: denied, says: "AccountId"},
		{rule: "a field that the user may not set", how: fake.Options{ReadOnly: []string{"Priority"}},
			reason: denied, says: "Priority"},
		{rule: "no field for keys", more: keyed, reason: misconfigured, says: "external_id_field"},
		{rule: "a field for keys that is not unique", how: fake.Options{ExternalID: keyField, NotUnique: true},
			more: keyed, reason: misconfigured, says: keyField},
		{rule: "a field for keys that is not marked External ID",
			how: fake.Options{ExternalID: keyField, NotMarked: true}, more: keyed, reason: misconfigured,
			says: keyField, create: true},
		{rule: "a field for keys that the user may not set",
			how: fake.Options{ExternalID: keyField, ReadOnly: []string{keyField}}, more: keyed, reason: misconfigured,
			says: keyField},
		{rule: "a required field of the organisation's own", how: fake.Options{Fields: own}, reason: misconfigured,
			says: "Region__c", create: true},
		{rule: "a required field that calls need not give", how: fake.Options{Required: []string{"Description"}},
			reason: misconfigured, says: "Description"},
		{rule: "a required origin where phone is none",
			how:    fake.Options{Required: []string{"Origin"}, Origins: []fake.Value{{Value: "Web"}}},
			reason: misconfigured, says: "Origin", create: true},
		{rule: "a field that is not there", more: with(map[string]any{"Regoin__c": "EMEA"}), reason: misconfigured,
			says: "Regoin__c", create: true},
		{rule: "a field that nobody sets", more: with(map[string]any{"CaseNumber": "7"}), reason: misconfigured,
			says: "CaseNumber", create: true},
		{rule: "a value that is not active", how: fake.Options{Fields: own},
			more: with(map[string]any{"Region__c": "Mars"}), reason: misconfigured, says: "EMEA, APAC", create: true},
		{rule: "a value of another type", how: fake.Options{Fields: own[1:]},
			more: with(map[string]any{"Floor__c": "third"}), reason: misconfigured, says: "Floor__c", create: true},
		{rule: "a queue that is none", more: with(map[string]any{"OwnerId": fake.RecordID("00G", 9)}),
			reason: misconfigured, says: "OwnerId", create: true},
		{rule: "an id that can be none", more: with(map[string]any{"OwnerId": "Alice"}), reason: misconfigured,
			says: "OwnerId", create: true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			d := s.open(t, c.more)
			adaptertest.WantSetup(t, d.(adapter.SetupChecker).CheckSetup(t.Context()), c.reason, c.says)
			if made, _ := s.Tickets(t.Context()); made != 0 {
				t.Error("looking at the setup made a case")
			}
			if _, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A pipe"}); c.create {
				f := fault.From(err)
				if f == nil || f.Reason != c.reason || len(f.Fields) != 0 {
					t.Errorf("creating answered %v", err)
				}
			}
		})
	}
}

func TestAFieldThatIsNewIsFoundByAskingAnew(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, with(map[string]any{"Region__c": "EMEA"}))
	if _, err := d.Create(t.Context(), crm.NewTicket{Subject: "A pipe"}); err == nil {
		t.Fatal("a field that is not there was sent")
	}
	s.AddField(own[0])
	create(t, d, crm.NewTicket{Subject: "A pipe"})
}

func TestAValueOfTheCallThatTheOrganisationRefusesIsTold(t *testing.T) {
	s := serve(t, fake.Options{Fields: own})
	d := s.open(t, with(map[string]any{"Region__c": "{priority}"}))
	_, err := d.Create(t.Context(), crm.NewTicket{Subject: "A pipe", Priority: "High"})
	adaptertest.WantSetup(t, err, fault.ReasonProviderMisconfigured, "Region__c")
}

func TestFieldsThatTheSettingDoesNotTakeAreRefusedWhenGiven(t *testing.T) {
	err := salesforce.Adapter().Check(adapter.Values{Settings: map[string]any{
		"external_id_field": keyField, "fields": map[string]any{"Subject": "x", keyField: "x", "Region__c": "EMEA"},
	}})
	got := faulttest.Paths(err)
	if want := []string{"settings.fields." + keyField, "settings.fields.Subject"}; !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
}
