package sandbox

import (
	"slices"
	"time"

	"frontdesk/core/crm"
)

// The related records of every account.
var (
	owners   = []string{"usr_1", "usr_2", "usr_3"}
	accounts = []string{"acc_1", "acc_2", "acc_3"}
)

// seededContacts returns the contacts of every account. Their numbers are reserved for fiction, and typed in
// as many ways as people do.
func seededContacts() []crm.Contact {
	return []crm.Contact{
		{
			ID: "con_1", Name: "Pat Doe", Emails: []string{"pat@example.com"}, Phones: []string{"(202) 555-0101"},
			AccountID: "acc_1", AccountName: "Maple Court Homes",
		},
		{
			ID: "con_2", Name: "Kim Rivera", Emails: []string{"kim@example.com", "billing@example.org"},
			Phones: []string{"+1 202 555 0102", "202.555.0112"}, AccountID: "acc_2", AccountName: "Rivera & Co.",
		},
		{
			ID: "con_3", Name: "Sam Okafor", Emails: []string{"sam@example.com"}, Phones: []string{"+12025550103"},
			AccountID: "acc_1", AccountName: "Maple Court Homes",
		},
		{
			ID: "con_4", Name: "Alex Stone", Emails: []string{"alex@example.net"}, Phones: []string{"1-202-555-0104"},
			AccountID: "acc_3", AccountName: "Stone Household",
		},
		{
			ID: "con_5", Name: "Robin Stone", Emails: []string{"robin@example.net"}, Phones: []string{"2025550104"},
			AccountID: "acc_3", AccountName: "Stone Household",
		},
	}
}

// firstNumber is the number of the first ticket of an account.
const firstNumber = 1001

// seedTicket returns the first ticket of the seed for which is returns true. The seed is not stored: nothing
// changes its tickets, and an account has them before its first write.
func (d *driver) seedTicket(is func(document) bool) (document, bool) {
	seeds := d.seeds()
	i := slices.IndexFunc(seeds, is)
	if i < 0 {
		return document{}, false
	}
	return seeds[i], true
}

func (d *driver) seeds() []document {
	if d.settings.Seed == "empty" {
		return nil
	}
	at := func(day, hour int) time.Time { return time.Date(2026, time.January, day, hour, 0, 0, 0, time.UTC) }
	seeds := []document{
		{
			ID: "tkt_000000000000000000001001", Number: "00001001", Subject: "Heating does not start",
			Description: text{Body: "The heating in flat 12 has been cold since this morning.\nThe display shows E7."},
			Status:      d.status("Open"), Priority: d.priority("High"), OwnerID: owners[0], AccountID: accounts[0],
			ContactID: "con_1",
			CreatedAt: at(12, 9), UpdatedAt: at(13, 15),
			Comments: []comment{
				{text{Body: "Thank you for calling. A technician comes on Wednesday between 8 and 10."}, true},
				{text{Body: "Customer is upset, third call this month. Please hurry."}, false},
			},
		},
		{
			ID: "tkt_000000000000000000001002", Number: "00001002", Subject: "Invoice shows the wrong address",
			Description: text{
				Body: "<p>The invoice of <b>December</b> names our old address.</p><p>Please send a new one to:<br>12 " +
					"Main Street &amp; Co.</p>", HTML: true,
			},
			Status: d.status("Pending"), Priority: d.priority("Normal"), OwnerID: owners[1],
			AccountID: accounts[1], ContactID: "con_2",
			CreatedAt: at(14, 11), UpdatedAt: at(14, 16),
			Comments: []comment{
				{text{Body: "<div>Which <i>postal code</i> is it?</div><ul><li>10115</li><li>10117</li></ul>",
					HTML: true}, true},
			},
		},
		{
			ID: "tkt_000000000000000000001003", Number: "00001003", Subject: "Password cannot be reset",
			Description: text{Body: "The link in the message has expired."},
			Status:      d.status(first(d.settings.Resolved)), Priority: d.priority("Low"), OwnerID: owners[0],
			AccountID: accounts[0], ContactID: "con_3",
			CreatedAt: at(15, 8), UpdatedAt: at(15, 10), ResolvedAt: at(15, 10),
			Comments: []comment{
				{text{Body: "A new link is on its way."}, true},
				{text{Body: "The customer signed in, so this is solved."}, true},
			},
		},
		{
			ID: "tkt_000000000000000000001004", Number: "00001004", Subject: "Cancel the newsletter",
			Status: d.status(first(d.settings.Closed)), Priority: d.settings.DefaultPriority,
			CreatedAt: at(5, 13), UpdatedAt: at(9, 13), ResolvedAt: at(6, 13), ClosedAt: at(9, 13),
		},
	}
	for i := range seeds {
		d.touch(&seeds[i], seeds[i].UpdatedAt) // custom labels may resolve and close other tickets
	}
	return seeds
}

// status returns the label if the account has it, or else the default.
func (d *driver) status(label string) string {
	if slices.Contains(d.settings.Statuses, label) {
		return label
	}
	return d.settings.DefaultStatus
}

// priority returns the label if the account has it, or else the default.
func (d *driver) priority(label string) string {
	if slices.Contains(d.settings.Priorities, label) {
		return label
	}
	return d.settings.DefaultPriority
}

// first returns the first label of a list that may be empty.
func first(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return labels[0]
}
