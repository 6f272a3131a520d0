package sandbox

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

func TestEveryAccountBeginsWithTheDocumentedTickets(t *testing.T) {
	d := newAccount(t, adapter.Values{}).open()
	at := func(day, hour int) time.Time { return time.Date(2026, time.January, day, hour, 0, 0, 0, time.UTC) }
	for _, want := range []crm.Ticket{
		{
			ID: "tkt_000000000000000000001001", Number: "00001001", Subject: "Heating does not start",
			Description: crm.Plain("The heating in flat 12 has been cold since this morning.\nThe display shows E7."),
			Status:      "Open", Priority: "High", OwnerID: "usr_1", AccountID: "acc_1", ContactID: "con_1",
			CreatedAt: at(12, 9), UpdatedAt: at(13, 15),
			LastComment: crm.Plain("Thank you for calling. A technician comes on Wednesday between 8 and 10."),
		},
		{
			ID: "tkt_000000000000000000001002", Number: "00001002", Subject: "Invoice shows the wrong address",
			Description: crm.Text{
				Body: "<p>The invoice of <b>December</b> names our old address.</p>" +
					"<p>Please send a new one to:<br>12 Main Street &amp; Co.</p>", HTML: true,
			},
			Status: "Pending", Priority: "Normal", OwnerID: "usr_2", AccountID: "acc_2", ContactID: "con_2",
			CreatedAt: at(14, 11), UpdatedAt: at(14, 16),
			LastComment: crm.Text{
				Body: "<div>Which <i>postal code</i> is it?</div><ul><li>10115</li><li>10117</li></ul>", HTML: true,
			},
		},
		{
			ID: "tkt_000000000000000000001003", Number: "00001003", Subject: "Password cannot be reset",
			Description: crm.Plain("The link in the message has expired."),
			Status:      "Solved", Priority: "Low", OwnerID: "usr_1", AccountID: "acc_1", ContactID: "con_3",
			CreatedAt: at(15, 8), UpdatedAt: at(15, 10), ResolvedAt: at(15, 10),
			LastComment: crm.Plain("The customer signed in, so this is solved."),
		},
		{
			ID: "tkt_000000000000000000001004", Number: "00001004", Subject: "Cancel the newsletter", Status: "Closed",
			Priority: "Normal", CreatedAt: at(5, 13), UpdatedAt: at(9, 13), ResolvedAt: at(6, 13), ClosedAt: at(9, 13),
		},
	} {
		byNumber, err := d.ByNumber(t.Context(), want.Number)
		if err != nil || byNumber != want {
			t.Errorf("ticket %s is %+v, %v; want %+v", want.Number, byNumber, err, want)
		}
		byID, err := d.(crm.IDFinder).ByID(t.Context(), want.ID)
		if err != nil || byID != want {
			t.Errorf("ticket %s is %+v, %v; want %+v", want.ID, byID, err, want)
		}
	}
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "The first of one's own"})
	if err != nil || made.Number != "00001005" {
		t.Errorf("the first new ticket has number %q, %v; want 00001005", made.Number, err)
	}
}

// firstOwn is the number of the first ticket that is created beside the demo ones.
const firstOwn = 1005

func TestAnEmptyAccountCountsFromTheStart(t *testing.T) {
	d := newAccount(t, adapter.Values{Settings: map[string]any{"seed": "empty"}}).open()
	if _, err := d.ByNumber(t.Context(), "00001001"); fault.From(err) == nil ||
		fault.From(err).Code != fault.NotFound {
		t.Errorf("ticket 00001001 of an empty account: %v, want NotFound", err)
	}
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "The first"})
	if err != nil || made.Number != "00001001" {
		t.Errorf("the first ticket has number %q, %v; want 00001001", made.Number, err)
	}
}

func TestStatusDecidesTheTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, adapter.Values{}).open()
		now := time.Now().UTC().Truncate(time.Second)
		for _, c := range []struct {
			status           string
			resolved, closed time.Time
		}{
			{"New", time.Time{}, time.Time{}},
			{"Pending", time.Time{}, time.Time{}},
			{"Solved", now, time.Time{}},
			{"Closed", time.Time{}, now},
		} {
			made, err := d.Create(t.Context(), crm.NewTicket{
				Key: strings.ToLower(c.status), Subject: "Times", Status: c.status,
			})
			if err != nil || !made.CreatedAt.Equal(now) || !made.UpdatedAt.Equal(now) ||
				made.ResolvedAt != c.resolved || made.ClosedAt != c.closed {
				t.Errorf("a ticket made %s is %+v, %v; want resolution %s and closing %s", c.status, made, err,
					c.resolved, c.closed)
			}
		}
	})
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		rule     string
		settings map[string]any
		invalid  string // the path of the fault; "" is none
		status   string
		priority string
	}{
		{"the defaults", map[string]any{}, "", "New", "Normal"},
		{"labels of one's own", map[string]any{"statuses": "Neu,Offen", "priorities": "Normal,Hoch"}, "",
			"Neu", "Normal"},
		{"no default priority where none is Normal", map[string]any{"priorities": "P1,P2"}, "", "New", ""},
		{"defaults of one's own", map[string]any{"default_status": "Open", "default_priority": "Urgent"}, "",
			"Open", "Urgent"},
		{"a list as JSON", map[string]any{"statuses": []any{"Todo", "Done"}}, "", "Todo", "Normal"},
		{"a label twice", map[string]any{"statuses": "Open,open"}, "settings.statuses", "", ""},
		{"an empty label", map[string]any{"priorities": "Low,,High"}, "settings.priorities", "", ""},
		{"no label at all", map[string]any{"statuses": []any{}}, "settings.statuses", "", ""},
		{"a default that is no label", map[string]any{"default_status": "Broken"}, "settings.statuses", "", ""},
		{"a fault that does not exist", map[string]any{"fault": "tired"}, "settings.fault", "", ""},
	} {
		d, err := Adapter().OpenCRM(t.Context(), adapter.Values{Settings: c.settings},
			newEnvironment(newAccount(t, adapter.Values{})))
		if c.invalid != "" {
			if err := conformance.WantInvalid(c.rule, err, c.invalid); err != nil {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: c.rule})
		if err != nil || made.Status != c.status || made.Priority != c.priority {
			t.Errorf("%s: a ticket given neither is %q and %q, %v; want %q and %q", c.rule, made.Status, made.Priority,
				err, c.status, c.priority)
		}
	}
}

func newEnvironment(a account) adapter.Environment {
	return adapter.Environment{Storage: a.GatedStorage, Now: time.Now, Zone: "UTC"}
}

func TestLabelsOfOnesOwnReachTheFirstTickets(t *testing.T) {
	a := newAccount(t, adapter.Values{Settings: map[string]any{
		"statuses": "Todo,Done", "resolved_statuses": "Done", "closed_statuses": "Done",
	}})
	for number, want := range map[string]string{
		"00001001": "Todo", "00001002": "Todo", "00001003": "Done", "00001004": "Done",
	} {
		got, err := a.open().ByNumber(t.Context(), number)
		if err != nil || got.Status != want {
			t.Errorf("ticket %s is %q, %v; want %q", number, got.Status, err, want)
		}
		if done := want == "Done"; got.ClosedAt.IsZero() == done || got.ResolvedAt.IsZero() == done {
			t.Errorf("ticket %s is %s, resolved at %s and closed at %s", number, got.Status,
				got.ResolvedAt, got.ClosedAt)
		}
	}
}

func TestEveryFaultOfATicketIsNamedAtOnce(t *testing.T) {
	a := newAccount(t, adapter.Values{})
	_, err := a.open().Create(t.Context(), crm.NewTicket{
		Key: "k", Status: "open", Priority: "Huge", OwnerID: "con_1", AccountID: "acc_4", ContactID: "usr_1",
	})
	paths := faulttest.Paths(err)
	if want := []string{
		"subject", "status", "priority", "owner_id", "account_id", "contact_id",
	}; !slices.Equal(paths, want) {
		t.Errorf("the faults name %q, want %q", paths, want)
	}
}

func TestAnyRelatedRecordMayExist(t *testing.T) {
	a := newAccount(t, adapter.Values{Settings: map[string]any{"related": "any"}})
	made, err := a.open().Create(t.Context(), crm.NewTicket{
		Key: "k", Subject: "S", OwnerID: "0051x00000ABC", AccountID: "x", ContactID: "y",
	})
	if err != nil || made.OwnerID != "0051x00000ABC" || made.AccountID != "x" || made.ContactID != "y" {
		t.Errorf("got %+v, %v", made, err)
	}
}

// TestManyAtOnceGetNumbersWithoutGaps has repeats and refusals among the callers: neither takes a number.
func TestManyAtOnceGetNumbersWithoutGaps(t *testing.T) {
	a := newAccount(t, adapter.Values{})
	const callers = 50
	var mu sync.Mutex
	byKey := map[string]string{}
	err := conformance.AtOnce(3*callers, func(i int) error {
		d, key := a.open(), fmt.Sprintf("key%d", i%callers)
		if i >= 2*callers {
			if _, err := d.Create(t.Context(), crm.NewTicket{
				Key: "bad" + key, Subject: "S", OwnerID: "nobody",
			}); err == nil {
				return fmt.Errorf("a ticket of nobody was made")
			}
			return nil
		}
		made, err := d.Create(t.Context(), crm.NewTicket{Key: key, Subject: "S"})
		mu.Lock()
		defer mu.Unlock()
		if other, again := byKey[key]; again && other != made.Number {
			return fmt.Errorf("one key has the numbers %s and %s", other, made.Number)
		}
		byKey[key] = made.Number
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := firstOwn; n < firstOwn+callers; n++ {
		want = append(want, fmt.Sprintf("%08d", n))
	}
	if got := a.numbers(t); !slices.Equal(got, want) {
		t.Errorf("the numbers are %q, want %q", got, want)
	}
}

// TestAccountBehavesAsAModel compares the sandbox with a list that does the same, over random histories.
func TestAccountBehavesAsAModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := newAccount(t, adapter.Values{})
		model := map[string]crm.Ticket{} // by key
		label := func(of []string, name string) string {
			return rapid.SampledFrom(append([]string{"", "nonsense"}, of...)).Draw(r, name)
		}
		statuses, priorities := []string{"New", "Open", "Pending", "Solved", "Closed"}, []string{
			"Low", "Normal", "High", "Urgent",
		}
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				given := crm.NewTicket{
					Key: rapid.StringMatching(`[a-c]`).Draw(r, "key"), Subject: rapid.String().Draw(r, "subject"),
					Description: rapid.String().Draw(r, "description"),
					Status:      label(statuses, "status"), Priority: label(priorities, "priority"),
					OwnerID: label(owners, "owner"), AccountID: label(accounts, "account"),
					ContactID: label(a.open().(*driver).contactIDs(), "contact"),
				}
				if strings.Contains(given.Subject, "sandbox:") {
					r.Skip("a scenario")
				}
				made, err := a.open().Create(t.Context(), given)
				earlier, repeated := model[given.Key]
				switch {
				case repeated:
					if err != nil || made != earlier {
						r.Fatalf("a repeat answered %+v, %v; want %+v", made, err, earlier)
					}
					return
				case slices.Contains([]string{given.Status, given.Priority, given.OwnerID, given.AccountID,
					given.ContactID}, "nonsense") || strings.TrimSpace(given.Subject) == "":
					if fault.From(err) == nil || fault.From(err).Code != fault.Invalid {
						r.Fatalf("Create of %+v answered %v, want Invalid", given, err)
					}
					return
				case err != nil:
					r.Fatal(err)
				}
				want := fmt.Sprintf("%08d", firstOwn+len(model))
				if made.Number != want || made.Subject != given.Subject ||
					made.Description != crm.Plain(given.Description) {
					r.Fatalf("Create of %+v answered %+v, want number %s", given, made, want)
				}
				model[given.Key] = made
			},
			"": func(r *rapid.T) {
				d := a.open().(*driver)
				for key, want := range model {
					for by, read := range map[string]func() (crm.Ticket, error){
						"key":    func() (crm.Ticket, error) { return d.Find(t.Context(), crm.NewTicket{Key: key}) },
						"id":     func() (crm.Ticket, error) { return d.ByID(t.Context(), want.ID) },
						"number": func() (crm.Ticket, error) { return d.ByNumber(t.Context(), want.Number) },
					} {
						if got, err := read(); err != nil || got != want {
							r.Fatalf("by %s the ticket is %+v, %v; want %+v", by, got, err, want)
						}
					}
				}
				if got := len(a.numbers(t)); got != len(model) {
					r.Fatalf("the account holds %d tickets, want %d", got, len(model))
				}
			},
		})
	})
}

// TestNoNumberIsTakenForAnother reads arbitrary numbers.
func TestNoNumberIsTakenForAnother(t *testing.T) {
	d := newAccount(t, adapter.Values{}).open()
	rapid.Check(t, func(r *rapid.T) {
		number := rapid.OneOf(rapid.String(), rapid.StringMatching(`0{0,9}100[0-9]`),
			rapid.StringMatching(`[0-9 #'"%\\]{0,12}`)).Draw(r, "number")
		if strings.Contains(strings.ToLower(number), "sandbox:") {
			r.Skip("a scenario")
		}
		got, err := d.ByNumber(t.Context(), number)
		if err == nil && got.Number != number {
			r.Fatalf("ByNumber(%q) answered ticket %q", number, got.Number)
		}
		if err != nil && fault.From(err).Reason != fault.ReasonTicketNotFound {
			r.Fatalf("ByNumber(%q) failed with %v", number, err)
		}
	})
}

func TestTheFaultSettingKnowsEveryWord(t *testing.T) {
	want := []string{}
	for _, w := range append(scenario.Names(), rejected) {
		want = append(want, string(w))
	}
	fields := Adapter().Fields
	i := slices.IndexFunc(fields, func(f adapter.Field) bool { return f.Name == "fault" })
	if !slices.Equal(fields[i].Choices, want) {
		t.Errorf("the choices are %q, want %q", fields[i].Choices, want)
	}
}

// refusals maps the scenarios that refuse a call before it acts to the error that the caller gets.
var refusals = map[string]string{
	"rate_limited": fault.ReasonProviderRateLimited,
	"revoked":      fault.ReasonReconnectRequired,
	"forbidden":    fault.ReasonPermissionDenied,
	"down":         fault.ReasonProviderUnavailable,
}

func TestScenariosRefuseACall(t *testing.T) {
	for name, reason := range refusals {
		plain := newAccount(t, adapter.Values{})
		always := newAccount(t, adapter.Values{Settings: map[string]any{"fault": name}})
		for call, err := range map[string]error{
			"a subject": lastOf(plain.open().Create(t.Context(), crm.NewTicket{
				Key: "k", Subject: "Help! Sandbox:" + strings.ToUpper(name) + "!",
			})),
			"a number": lastOf(plain.open().ByNumber(t.Context(), "sandbox:"+name+" 1001")),
			"the setting, on Create": lastOf(always.open().Create(t.Context(), crm.NewTicket{
				Key: "k", Subject: "Help",
			})),
			"the setting, on ByNumber": lastOf(always.open().ByNumber(t.Context(), "00001001")),
			"the setting, on Account":  lastOf(always.open().Account(t.Context())),
			"the setting, on labels":   lastOf(always.open().Vocabulary(t.Context())),
		} {
			if got := fault.From(err); got == nil || got.Reason != reason {
				t.Errorf("sandbox:%s in %s answered %v, want %s", name, call, err, reason)
			}
		}
		if made := append(plain.numbers(t), always.numbers(t)...); len(made) > 0 {
			t.Errorf("sandbox:%s refused, and made the tickets %q", name, made)
		}
	}
}

func TestAValidationRuleRefusesNewTicketsAlone(t *testing.T) {
	plain := newAccount(t, adapter.Values{})
	always := newAccount(t, adapter.Values{Settings: map[string]any{"fault": "rejected"}})
	for where, err := range map[string]error{
		"the subject": lastOf(plain.open().Create(t.Context(), crm.NewTicket{
			Key: "k", Subject: "sandbox:rejected",
		})),
		"the setting": lastOf(always.open().Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Help"})),
	} {
		if f := fault.From(err); f == nil || f.Code != fault.Invalid || f.Reason != fault.ReasonProviderRefused {
			t.Errorf("by %s: %v, want Invalid %s", where, err, fault.ReasonProviderRefused)
		}
	}
	if _, err := always.open().ByNumber(t.Context(), "00001001"); err != nil {
		t.Errorf("reading a ticket: %v", err)
	}
}

func lastOf[T any](_ T, err error) error { return err }

func TestAScenarioBesideANumberIsNoPartOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, adapter.Values{}).open()
		for _, number := range []string{
			"sandbox:slow 1001", "sandbox:slow #1001", "sandbox:slow1001", "00001001 SANDBOX:slow",
		} {
			start := time.Now()
			got, err := d.ByNumber(t.Context(), number)
			if err != nil || got.Number != "00001001" || time.Since(start) != scenario.SlowFor {
				t.Errorf("ByNumber(%q) answered %q, %v after %s; want 00001001 after %s", number, got.Number, err,
					time.Since(start), scenario.SlowFor)
			}
		}
	})
}

func TestScenariosHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, adapter.Values{})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := a.open().Create(ctx, crm.NewTicket{Key: "k", Subject: "sandbox:hang"})
		if fault.From(err).Code != fault.Timeout {
			t.Errorf("got %v, want the deadline", err)
		}
		if made := a.numbers(t); len(made) > 0 {
			t.Errorf("a call that hangs made the tickets %q", made)
		}
	})
}

func TestALostReplyIsFoundByTheRepeat(t *testing.T) {
	a := newAccount(t, adapter.Values{})
	given := crm.NewTicket{Key: "k", Subject: "sandbox:reply_lost"}
	_, err := a.open().Create(t.Context(), given)
	if f := fault.From(err); f == nil || f.Code != fault.Unavailable || f.Unsent {
		t.Fatalf("the first Create answered %v, want Unavailable, and not unsent", err)
	}
	again, err := a.open().Create(t.Context(), given)
	if err != nil || again.Number != "00001005" || len(a.numbers(t)) != 1 {
		t.Errorf("the repeat answered %+v, %v, of tickets %q", again, err, a.numbers(t))
	}
}

func TestAnUnknownOutcomeIsSettledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, adapter.Values{}).open().(*driver)
		given := crm.NewTicket{Key: "k", Subject: "sandbox:outcome_unknown"}
		if _, err := d.Create(t.Context(), given); fault.From(err).Code != fault.Unavailable {
			t.Fatalf("Create answered %v, want Unavailable", err)
		}
		for call, err := range map[string]error{
			"Create":   lastOf(d.Create(t.Context(), given)),
			"Find":     lastOf(d.Find(t.Context(), given)),
			"ByID":     lastOf(d.ByID(t.Context(), idOf("k"))),
			"ByNumber": lastOf(d.ByNumber(t.Context(), "00001005")),
		} {
			if f := fault.From(err); f == nil || f.Code != fault.Unavailable {
				t.Errorf("%s of a ticket that is out of reach answered %v, want Unavailable", call, err)
			}
		}
		if _, err := d.ByNumber(t.Context(), "00001001"); err != nil {
			t.Errorf("another ticket is out of reach too: %v", err)
		}
		time.Sleep(scenario.SilentFor)
		if found, err := d.Find(t.Context(), given); err != nil || found.Number != "00001005" {
			t.Errorf("after %s Find answered %+v, %v", scenario.SilentFor, found, err)
		}
		if again, err := d.Create(t.Context(), given); err != nil || again.Number != "00001005" {
			t.Errorf("after %s Create answered %+v, %v", scenario.SilentFor, again, err)
		}
	})
}

// An account keeps its newest tickets, and nothing of the others. The demo tickets take no room.
func TestTheNewestTicketsAreKept(t *testing.T) {
	a := newAccount(t, adapter.Values{})
	d := a.open().(*driver)
	d.most = 3
	var made []crm.Ticket
	for i := range 5 {
		ticket, err := d.Create(t.Context(), crm.NewTicket{Key: fmt.Sprint("key", i), Subject: "S"})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, ticket)
	}
	documents := 0
	err := a.Storage.View(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Scan("", "", func(string, []byte) bool { documents++; return true })
	})
	if err != nil || documents != 2*d.most+1 {
		t.Errorf("there are %d documents, %v", documents, err)
	}
	for i, ticket := range made {
		_, byNumber := d.ByNumber(t.Context(), ticket.Number)
		_, byID := d.ByID(t.Context(), ticket.ID)
		if kept := i >= 2; kept != (byNumber == nil) || kept != (byID == nil) {
			t.Errorf("ticket %s: %v, %v", ticket.Number, byNumber, byID)
		}
	}
	if _, err := d.ByNumber(t.Context(), "00001001"); err != nil {
		t.Errorf("the first demo ticket: %v", err)
	}
	limits, err := os.ReadFile("../../../deploy/limits.md")
	if err != nil || mostTickets != 20_000 || !strings.Contains(string(limits), "newest 20,000 tickets") {
		t.Errorf("deploy/limits.md does not say that %d tickets are kept (%v)", mostTickets, err)
	}
}
