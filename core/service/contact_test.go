package service

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/normalize"
	"frontdesk/core/phonenumber"
	"frontdesk/core/record"
	"frontdesk/core/tenant"
)

func person(id, name string, phones ...string) crm.Contact {
	return crm.Contact{
		ID: id, Name: name, Emails: []string{id + "@Example.com"}, Phones: phones, AccountID: "acc-" + id,
		AccountName: "Account of " + name,
	}
}

func phoneOf(t *testing.T, text string) LookUpCaller {
	t.Helper()
	n, err := phonenumber.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return LookUpCaller{Phone: n}
}

// callerWorld is a tenant whose CRM has contacts, and lets these fields out.
func callerWorld(
	t *testing.T, fields tenant.List, contacts ...crm.Contact,
) (*world, *process, apikey.Caller) {
	t.Helper()
	w, p, c := sqliteWorld(t)
	w.tickets.contacts = append([]crm.Contact{}, contacts...)
	c.Tenant.Settings.UnverifiedCallerFields = fields
	return w, p, c
}

func names(a record.CallerAnswer) (all []string) {
	for _, c := range a.Candidates {
		all = append(all, c.Name+" "+c.Match)
	}
	return all
}

func TestCandidatesAreThoseWhoHaveTheNumber(t *testing.T) {
	t.Parallel()
	pat, kim := person("1", "Pat", "+1 513 555 7611"), person("2", "Kim", "(513) 555-7611")
	end, stranger := person("3", "Alex", "555-7611"), person("4", "Sam", "+1 513 555 7612", "no number")
	for rule, c := range map[string]struct {
		contacts []crm.Contact
		in       LookUpCaller
		want     []string
		say      string
	}{
		"the best match first": {[]crm.Contact{kim, stranger, pat}, phoneOf(t, "+15135557611"),
			[]string{"Pat exact", "Kim national"}, "This may be Pat or Kim."},
		"the end of a number counts if there is nothing better": {[]crm.Contact{end, stranger},
			phoneOf(t, "+15135557611"), []string{"Alex suffix"}, "This may be Alex."},
		"but not beside somebody who has it all": {[]crm.Contact{end, kim}, phoneOf(t, "+15135557611"),
			[]string{"Kim national"}, "This may be Kim."},
		"nobody": {[]crm.Contact{stranger}, phoneOf(t, "+15135557611"), nil,
			"I do not know who is calling."},
		"by an address": {[]crm.Contact{pat, kim}, LookUpCaller{Email: "2@example.com"}, []string{"Kim exact"},
			"This may be Kim."},
		"an address that nobody has": {[]crm.Contact{pat}, LookUpCaller{Email: "11@example.com"}, nil,
			"I do not know who is calling."},
		"three of a family": {[]crm.Contact{person("9", "Cy", "+15135557611"), person("8", "Bo", "+15135557611"),
			pat},
			phoneOf(t, "+15135557611"), []string{"Bo exact", "Cy exact", "Pat exact"}, "This may be Bo, Cy or Pat."},
	} {
		t.Run(rule, func(t *testing.T) {
			_, p, caller := callerWorld(t, nil, c.contacts...)
			got, err := p.Contacts.LookUp(background, caller, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names(got), c.want) || got.Say != c.say || got.Found != (len(c.want) > 0) ||
				got.Verified ||
				got.Withheld || got.More || len(got.Partial) > 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestNothingGoesOutButWhatTheTenantAllows(t *testing.T) {
	t.Parallel()
	contact := person("1", "Pat", "+15135557611")
	for _, c := range []struct {
		fields tenant.List
		want   string
	}{
		{nil, `{"match":"exact","name":"Pat"}`},
		{tenant.List{}, `{"match":"exact"}`},
		{tenant.List{tenant.CallerContactID, tenant.CallerEmail, tenant.CallerPhoneNumbers, tenant.CallerAccount},
			`{"match":"exact","contact_id":"1","emails":["1@Example.com"],"phone_numbers":["+15135557611"],` +
				`"account":{"id":"acc-1","name":"Account of Pat"}}`},
		{tenant.List{tenant.CallerOpenTickets}, `{"match":"exact","open_tickets":[{"ticket_number":"00000001",` +
			`"subject":"door","status":"","priority":"","created_at":"CREATED"}]}`},
	} {
		w, p, caller := callerWorld(t, c.fields, contact)
		w.tickets.made = []crm.Ticket{
			{ID: "a", Number: "00000001", Subject: "door", ContactID: "1", CreatedAt: w.clock.now(),
				Description: crm.Plain("secret"), LastComment: crm.Plain("secret")},
			{ID: "b", Number: "00000002", Subject: "secret", ContactID: "2", CreatedAt: w.clock.now()},
		}
		got, err := p.Contacts.LookUp(background, caller, phoneOf(t, "+15135557611"))
		if err != nil || len(got.Candidates) != 1 {
			t.Fatalf("%v: %+v, %v", c.fields, got, err)
		}
		raw, err := json.Marshal(got.Candidates[0])
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.want, "CREATED", normalize.Format(w.clock.now(), time.UTC))
		if string(raw) != want {
			t.Errorf("%v: %s, not %s", c.fields, raw, want)
		}
		if asked := w.tickets.called("open-tickets/1") > 0; asked != slices.Contains(c.fields,
			tenant.CallerOpenTickets) {
			t.Errorf("%v: the CRM is asked for tickets: %t", c.fields, asked)
		}
	}
}

func TestAWithheldNumberReachesNoCRM(t *testing.T) {
	t.Parallel()
	w, p, caller := callerWorld(t, nil, person("1", "Pat", "anonymous"))
	got, err := p.Contacts.LookUp(background, caller, LookUpCaller{Withheld: true})
	want := record.CallerAnswer{
		Withheld: true, Candidates: []record.Candidate{}, Partial: []string{}, Say: "I do not know who is calling.",
	}
	if err != nil || !reflect.DeepEqual(got, want) || w.tickets.called("find-contacts") != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatCouldNotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	pat, kim := person("1", "Pat", "+15135557611"), person("2", "Kim", "+15135557611")
	gone := person("gone", "Cy", "+15135557611")
	all := tenant.List{tenant.CallerName, tenant.CallerOpenTickets}
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for rule, c := range map[string]struct {
		incomplete bool
		react      func(call string) func(context.Context) error
		want       []string
	}{
		"nothing is missing": {want: []string{}},
		"a search failed":    {incomplete: true, want: []string{partialContacts}},
		"the tickets cannot be read": {react: func(string) func(context.Context) error { return fails(down()) },
			want: []string{partialOpenTickets}},
		"the tickets of one hang": {react: func(string) func(context.Context) error { return hangs },
			want: []string{partialOpenTickets}},
		"both, which ends both parts": {true, func(string) func(context.Context) error { return hangs },
			[]string{partialContacts, partialOpenTickets}},
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, caller := callerWorld(t, all, pat, kim, gone)
			p.Contacts.within = 200 * time.Millisecond
			w.tickets.incomplete = c.incomplete
			w.tickets.made = []crm.Ticket{{Number: "1", Subject: "of Kim", ContactID: "2"}}
			if c.react != nil {
				w.tickets.script(func(_ *process, call string) reaction {
					if call == "open-tickets/1" {
						return reaction{before: c.react(call)}
					}
					return reaction{}
				})
			}
			got, err := p.Contacts.LookUp(background, caller, phoneOf(t, "+15135557611"))
			if err != nil || !slices.Equal(got.Partial, c.want) || len(got.Candidates) != 3 {
				t.Fatalf("got %+v, %v", got, err)
			}
			for _, one := range got.Candidates {
				if (len(one.OpenTickets) == 1) != (one.Name == "Kim") {
					t.Errorf("got %+v", one)
				}
			}
		})
	}
}

func TestALookUpThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	w, p, caller := callerWorld(t, nil, person("1", "Pat", "+15135557611"))
	p.Contacts.within = 100 * time.Millisecond
	w.tickets.script(func(*process, string) reaction {
		return reaction{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	})
	_, err := p.Contacts.LookUp(background, caller, phoneOf(t, "+15135557611"))
	if code := fault.From(err).Code; code != fault.Timeout {
		t.Errorf("a CRM that hangs: %v", err)
	}
	_, p, caller = sqliteWorld(t)
	_, err = p.Contacts.LookUp(background, caller, phoneOf(t, "+15135557611"))
	wantReason(t, err, fault.Unsupported, fault.ReasonNotSupported)
}

func TestMoreContactsThanCanBeSaid(t *testing.T) {
	t.Parallel()
	var crowd []crm.Contact
	for i := range mostContacts + 1 {
		crowd = append(crowd, person(fmt.Sprint(i), fmt.Sprintf("Person %02d", i), "+15135557611"))
	}
	for count, more := range map[int]bool{
		mostCandidates: false, mostCandidates + 1: true, mostContacts + 1: true,
	} {
		_, p, caller := callerWorld(t, nil, crowd[:count]...)
		got, err := p.Contacts.LookUp(background, caller, phoneOf(t, "+15135557611"))
		if err != nil || len(got.Candidates) != mostCandidates || got.More != more {
			t.Errorf("of %d: %d, more: %t, %v", count, len(got.Candidates), got.More, err)
		}
	}
}

func TestWhoCallsIsSaidInTheLanguageOfTheCaller(t *testing.T) {
	t.Parallel()
	pat, kim := record.Candidate{Name: "Pat"}, record.Candidate{Name: "Kim"}
	for name, want := range map[string][3]string{
		language.English: {"I do not know who is calling.", "This may be Pat.", "This may be Pat or Kim."},
		language.Spanish: {"No sé quién llama.", "Puede que sea Pat.", "Puede que sea Pat o Kim."},
		language.German:  {"Ich weiß nicht, wer anruft.", "Das könnte Pat sein.", "Das könnte Pat oder Kim sein."},
		language.French:  {"Je ne sais pas qui appelle.", "C’est peut-être Pat.", "C’est peut-être Pat ou Kim."},
	} {
		ctx := language.With(t.Context(), name)
		for i, candidates := range [][]record.Candidate{nil, {pat, {}, pat}, {pat, kim}} {
			if got := sayCandidates(ctx, candidates); got != want[i] {
				t.Errorf("%s: said %q", name, got)
			}
		}
	}
	for last, want := range map[string]string{
		"Óscar": "Puede que sea Pat u Óscar.", "olga": "Puede que sea Pat u olga.", "Horacio": "Puede que sea Pat u Horacio.",
		"Hugo": "Puede que sea Pat o Hugo.",
	} {
		ctx := language.With(t.Context(), language.Spanish)
		if got := sayCandidates(ctx, []record.Candidate{pat, {Name: last}}); got != want {
			t.Errorf("said %q", got)
		}
	}
	if said := callerLanguages(); len(said) != len(language.All()) {
		t.Errorf("said in %d languages", len(said))
	}
}
