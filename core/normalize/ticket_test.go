package normalize

import (
	"strings"
	"testing"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/record"
)

func TestTicketRecords(t *testing.T) {
	tickets := []crm.Ticket{
		{
			ID: "tkt_8f3k2m", Number: "00001042", Subject: "Broken door handle",
			Description: crm.Plain("The handle of the front door came off.\r\n\r\nIt lies on the mat.\n"),
			Status:      "New", Priority: "High", OwnerID: "usr_1", AccountID: "acc_1", ContactID: "con_1",
			CreatedAt: instant(t, "2026-12-01T10:00:00-05:00"), UpdatedAt: instant(t, "2026-12-03T09:00:00.250Z"),
			ClosedAt: instant(t, "2026-12-03T09:00:00Z"), ResolvedAt: instant(t, "2026-12-02T18:00:00+01:00"),
			LastComment: crm.Plain("A locksmith comes tomorrow."),
		},
		{ID: "tkt_open", Number: "7", CreatedAt: instant(t, "2026-12-01T15:00:00Z")},
		{
			ID: "tkt_html", Number: "8", Subject: "From <mail> & co.",
			Description: crm.Text{HTML: true,
				Body: `<html><head><title>Mail</title><style>p{color:red}</style></head><body><p>Dear&nbsp;team,</p>` +
					`<p>these are <b>broken</b>:</p><ol><li>door<ul><li>handle</li><li>hinge</li></ul></li><li>bell</li></ol><script>alert(1)</script>` +
					`<p>Regards,<br>Pat</p></body></html>`},
			LastComment: crm.Text{
				HTML: true, Body: "<div>" + strings.Repeat("A locksmith comes <i>tomorrow</i>. ", 20) + "</div>",
			},
		},
		{ID: "tkt_plain", Number: "9", Description: crm.Plain("1 < 2 && <b>not bold</b>\x00\a"),
			LastComment: crm.Plain(strings.Repeat("👩🏽‍⚕️", 100))},
	}
	var answers []record.TicketAnswer
	for _, each := range tickets {
		answers = append(answers, record.TicketAnswer{Ticket: Ticket(each)})
	}
	golden(t, "tickets", answers)
}

func TestTicketTimesAreInUTCAndAbsentWhenUnknown(t *testing.T) {
	for rule, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"unknown":            {time.Time{}, ""},
		"in another zone":    {instant(t, "2026-12-01T10:00:00-05:00"), "2026-12-01T15:00:00Z"},
		"with a fraction":    {instant(t, "2026-12-01T10:00:00.5Z"), "2026-12-01T10:00:00.5Z"},
		"Unix time 0 is one": {time.Unix(0, 0), "1970-01-01T00:00:00Z"},
	} {
		if got := Ticket(crm.Ticket{ClosedAt: c.at}).ClosedAt; got != c.want {
			t.Errorf("%s: got %q, want %q", rule, got, c.want)
		}
	}
}

func TestTicketNumber(t *testing.T) {
	for rule, c := range map[string]struct {
		given string
		width int
		want  string
	}{
		"as written":                             {"00001042", 8, "00001042"},
		"leading zeros are missing":              {"1042", 8, "00001042"},
		"too many leading zeros":                 {"0000001042", 8, "00001042"},
		"spaces around it":                       {" \t1042\u00a0", 8, "00001042"},
		"a number sign":                          {"#1042", 8, "00001042"},
		"a number sign and a space":              {"# 1042", 8, "00001042"},
		"spaces between dictated digits":         {"1 0 4 2", 8, "00001042"},
		"longer than the width":                  {"123456789", 8, "123456789"},
		"zero":                                   {"0", 4, "0000"},
		"no padding: as said":                    {"#1042", 0, "1042"},
		"no padding: leading zeros count":        {"0042", 0, "0042"},
		"a width below zero is none":             {"42", -3, "42"},
		"letters are never padded":               {"SUP-42", 8, "SUP-42"},
		"spaces within letters stay":             {"  CASE 42 ", 8, "CASE 42"},
		"a number sign within stays":             {"A#42", 8, "A#42"},
		"digits of other scripts are left alone": {"١٠٤٢", 8, "١٠٤٢"},
		"a sign is no digit":                     {"-42", 8, "-42"},
		"nothing":                                {"", 8, ""},
		"spaces":                                 {"  \n", 8, ""},
		"a number sign alone":                    {" # ", 8, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			if got := TicketNumber(c.given, c.width); got != c.want {
				t.Errorf("%q of width %d is %q, want %q", c.given, c.width, got, c.want)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	valid := []string{"New", "In progress", "On Hold", "on hold", "High", "Größe"}
	words := map[string]string{
		"urgent": "High", "Parked": "on hold", "lost": "Nowhere", "new": "In progress", "Dusty": "new",
		"DUSTY": "High", "dusty": "On Hold", " idle ": "On Hold",
	}
	for rule, c := range map[string]struct {
		given string
		want  string
		ok    bool
	}{
		"as the CRM spells it":                           {"In progress", "In progress", true},
		"without regard to case":                         {"IN PROGRESS", "In progress", true},
		"beyond ASCII":                                   {"GRÖßE", "Größe", true},
		"spaces around it":                               {"  high ", "High", true},
		"the exact spelling before others":               {"on hold", "on hold", true},
		"else the first":                                 {"ON HOLD", "On Hold", true},
		"the tenant's word":                              {"urgent", "High", true},
		"the tenant's word in other case":                {"URGENT", "High", true},
		"a word leads to the label as the CRM spells it": {"parked", "on hold", true},
		"the tenant's words come before the labels":      {"New", "In progress", true},
		"a word of exactly that spelling":                {"dusty", "On Hold", true},
		"of words in other case the first in order":      {"dUsTy", "High", true},
		"spaces around a word of the configuration":      {"idle", "On Hold", true},
		"a word that leads nowhere":                      {"lost", "", false},
		"an unknown label":                               {"Low", "", false},
		"a part of a label":                              {"progress", "", false},
		"nothing":                                        {"", "", false},
		"spaces":                                         {"  ", "", false},
	} {
		t.Run(rule, func(t *testing.T) {
			if got, ok := Label(c.given, valid, words); got != c.want || ok != c.ok {
				t.Errorf("%q is %q, %v; want %q, %v", c.given, got, ok, c.want, c.ok)
			}
		})
	}
	if got, ok := Label("new", nil, nil); ok {
		t.Errorf("a CRM without labels has %q", got)
	}
}
