package crm_test

import (
	"errors"
	"testing"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func TestChoose(t *testing.T) {
	began := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	asked := crm.NewTicket{
		Subject: "A pipe", Description: "In room 12.\nBadly.", ContactID: "7", Since: began,
		Others: []string{"other"},
	}
	fitting := crm.Ticket{
		ID: "1", Subject: "A pipe ", Description: crm.Plain("In room 12. Badly."), ContactID: "7",
		OwnerID: "of its own", CreatedAt: began,
	}
	with := func(change func(*crm.Ticket)) crm.Ticket {
		changed := fitting
		change(&changed)
		return changed
	}
	duplicate := with(func(t *crm.Ticket) { t.ID = "2" })
	for rule, c := range map[string]struct {
		found []crm.Ticket
		want  string // the id; "" is none, "?" is fault.Unknowable
	}{
		"none at all": {nil, ""},
		"the one":     {[]crm.Ticket{fitting}, "1"},
		"of a clock that is slow": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.CreatedAt = began.Add(-crm.ClockSkew)
		})}, "1"},
		"of an unknown time": {[]crm.Ticket{with(func(t *crm.Ticket) { t.CreatedAt = time.Time{} })},
			"1"},
		"one from before": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.CreatedAt = began.Add(-crm.ClockSkew - 1)
		})}, ""},
		"another call's": {[]crm.Ticket{with(func(t *crm.Ticket) { t.ID = "other" })}, ""},
		"the one and another call's": {[]crm.Ticket{with(func(t *crm.Ticket) { t.ID = "other" }), duplicate},
			"2"},
		"the one, on two pages of a list that moved": {[]crm.Ticket{fitting, fitting}, "1"},
		"two that fit":       {[]crm.Ticket{fitting, duplicate}, "?"},
		"of another contact": {[]crm.Ticket{with(func(t *crm.Ticket) { t.ContactID = "8" })}, "?"},
		"of another subject": {[]crm.Ticket{with(func(t *crm.Ticket) { t.Subject = "Re: A pipe" })},
			"?"},
		"of another description": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Description = crm.Plain("")
		})}, "?"},
		"the one beside one that differs": {[]crm.Ticket{with(func(t *crm.Ticket) { t.ID, t.Subject = "2", "B" }),
			fitting}, "1"},
		"with words of a rule's around both texts": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Subject, t.Description = "[Phone] a Pipe", crm.Plain("In room 12. Badly.\n-- taken by phone")
		})}, "?"},
		// One of the two texts may be what many callers say.
		"with this subject in a longer one": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Subject, t.Description = "A pipe in the kitchen", crm.Plain("C")
		})}, ""},
		"with this description in a longer one": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Subject, t.Description = "B", crm.Plain("It is in room 12. Badly. Call back.")
		})}, ""},
		"of a subject that begins with this one": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Subject, t.Description = "A pipework", crm.Plain("C")
		})}, ""},
		"of other subject and description": {[]crm.Ticket{with(func(t *crm.Ticket) {
			t.Subject, t.Description = "B", crm.Plain("C")
		})}, ""},
	} {
		got, err := crm.Choose(asked, c.found)
		switch {
		case c.want == "?" && (err == nil || !fault.From(err).IsUnknowable()), c.want == "" &&
			!errors.Is(err, fault.NotFound),
			len(c.want) > 0 && c.want != "?" && (err != nil || got.ID != c.want):
			t.Errorf("%s: chose %q, %v", rule, got.ID, err)
		}
	}
	if _, err := crm.Choose(crm.NewTicket{Subject: "A"}, []crm.Ticket{{ID: "1", Subject: "B"}}); !errors.Is(err,
		fault.NotFound) {
		t.Errorf("two without a description resemble each other: %v", err)
	}
	added := crm.Ticket{ID: "1", Subject: "[Phone] A", Description: crm.Plain("Taken by phone.")}
	if _, err := crm.Choose(crm.NewTicket{Subject: "A"}, []crm.Ticket{added}); !fault.From(err).IsUnknowable() {
		t.Errorf("a rule may have given it a description: %v", err)
	}
}
