package normalize

import (
	"slices"
	"strings"
	"testing"

	"frontdesk/core/crm"
	"frontdesk/core/record"
)

func TestWhatATicketDoesNotHaveOfWhatWasAsked(t *testing.T) {
	asked := crm.NewTicket{
		Key: "k1", Subject: "Broken door",
		Description: "The handle came off.\nSince Monday: 2 of 3 <b>doors</b> & the bell.", Status: "New",
		Priority: "High", OwnerID: "7", AccountID: "acc_1", ContactID: "con_1",
	}
	has := Ticket(crm.Ticket{
		ID: "id1", Number: "1", Subject: asked.Subject, Description: crm.Plain(asked.Description),
		Status: "New", Priority: "High", OwnerID: "7", AccountID: "acc_1", ContactID: "con_1",
	})
	for rule, c := range map[string]struct {
		change func(r *record.Ticket)
		want   []string
	}{
		"all of it":                {func(*record.Ticket) {}, nil},
		"a label in another case":  {func(r *record.Ticket) { r.Status, r.Priority = "NEW", "high" }, nil},
		"words around the subject": {func(r *record.Ticket) { r.Subject = "[Acme #1] Broken door" }, nil},
		"a footer under the description": {func(r *record.Ticket) { r.Description += "\n-- \nSent by the desk" },
			nil},
		"lines wrapped, quotes made neat": {func(r *record.Ticket) {
			r.Description = strings.ReplaceAll(r.Description, " ", "\n")
		}, nil},
		"another status":              {func(r *record.Ticket) { r.Status = "Closed" }, []string{"status"}},
		"no priority":                 {func(r *record.Ticket) { r.Priority = "" }, []string{"priority"}},
		"nobody in the owner's place": {func(r *record.Ticket) { r.OwnerID = "" }, []string{"owner_id"}},
		"another account and contact": {func(r *record.Ticket) { r.AccountID, r.ContactID = "acc_2", "CON_1" },
			[]string{"account_id", "contact_id"}},
		"a subject that was cut": {func(r *record.Ticket) { r.Subject = "Broken" }, []string{"subject"}},
		"a description that was cut": {func(r *record.Ticket) { r.Description = "The handle came off." },
			[]string{"description"}},
		"words in another order": {func(r *record.Ticket) { r.Subject = "door Broken" },
			[]string{"subject"}},
		"no description": {func(r *record.Ticket) { r.Description = "" }, []string{"description"}},
	} {
		t.Run(rule, func(t *testing.T) {
			r := has
			c.change(&r)
			if got := NotTaken(asked, r); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := NotTaken(crm.NewTicket{Subject: "!!!"}, record.Ticket{Status: "New", OwnerID: "7"}); got != nil {
		t.Errorf("what was not asked is named: %q", got)
	}
	html := crm.Text{
		HTML: true, Body: "<p>The handle came off.<br>Since Monday: 2 of 3 &lt;b&gt;doors&lt;/b&gt; &amp; the " +
			"bell.</p>",
	}
	if got := NotTaken(crm.NewTicket{Description: asked.Description},
		Ticket(crm.Ticket{Description: html})); got != nil {
		t.Errorf("a description kept as HTML: %q", got)
	}
}
