package rest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/rest/servertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// substitute returns settings in which one text is replaced by another, in all their strings.
func substitute(v any, old, other string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, old, other)
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, substitute(item, old, other))
		}
		return list
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = substitute(member, old, other)
		}
		return members
	}
	return v
}

func redmine(t *testing.T, fake *redmineFake, old, other string) (redmineServer, crm.Driver) {
	t.Helper()
	s := redmineServer{serve(t, fake, asRedmine), fake}
	return s, s.open(t, substitute(exampleAt(t, "redmine.yaml", s.url), old, other).(object))
}

func TestAFieldThatNoStepUsesIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s, d := redmine(t, &redmineFake{}, "", "")
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A", AccountID: "1", ContactID: "2"})
	want := []fault.Field{
		{Path: "account_id", Message: "cannot be set in the connected ticket system; leave it out."},
		{Path: "contact_id", Message: "cannot be set in the connected ticket system; leave it out."},
	}
	if f := fault.From(err); f == nil || f.Code != fault.Invalid || !slices.Equal(f.Fields, want) ||
		s.Calls() != 0 {
		t.Errorf("after %d requests: %+v", s.Calls(), f)
	}
	for rule, c := range map[string]struct {
		body    string
		refused []string
	}{
		"one field": {"{s: .ticket.subject}", []string{"description", "status", "owner_id"}},
		"fields by other spellings": {`{s: .ticket["subject"], d: .ticket.description, st: .ticket.status_value}`,
			[]string{"owner_id"}},
		// A dropped field shows when the ticket is read back.
		"the whole ticket": {".ticket | {subject, description}", nil},
		"a step of that name": {"{s: .ticket.subject, o: .steps.ticket.body}",
			[]string{"description", "status", "owner_id"}},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{"POST /api/tickets": {status: 503}}), anonymous)
			d := s.open(t, plain(s.url, object{"ticket": shownAs(nil), "create": object{"number": "1", "steps": []any{
				object{"name": "create", "method": "POST", "path": "tickets", "body": c.body}}}}))
			_, err := d.Create(t.Context(), crm.NewTicket{
				Key: "k1", Subject: "A", Description: "B", Status: "New", OwnerID: "7",
			})
			refused := faulttest.Paths(err)
			if !slices.Equal(refused, c.refused) {
				t.Errorf("refused %q, want %q", refused, c.refused)
			}
		})
	}
	wrong := wrongIn(plain("https://desk.example", object{"create": object{"number": "1", "steps": []any{
		object{"name": "owner", "path": "users/{.ticket.owner_id}", "when": ".ticket.priority_value"},
		object{"name": "create", "method": "POST", "path": "tickets",
			"headers": object{"X-A": "{.ticket.contact_id}"}, "query": object{"q": "{.ticket.account_id}"}},
	}}}), nil)
	if want := []string{
		"settings.ticket.priority is required, because create uses .ticket.priority: otherwise nothing shows " +
			"whether it was kept.",
		"settings.ticket.owner_id is required, because create uses .ticket.owner_id: otherwise nothing shows " +
			"whether it was kept.",
		"settings.ticket.account_id is required, because create uses .ticket.account_id: otherwise nothing shows " +
			"whether it was kept.",
		"settings.ticket.contact_id is required, because create uses .ticket.contact_id: otherwise nothing shows " +
			"whether it was kept.",
	}; !slices.Equal(wrong, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(wrong, "\n"), strings.Join(want, "\n"))
	}
}

// A caller cannot correct the connection. The person who verifies it learns what to correct.
func TestAFaultOfTheSetUpIsNotBlamedOnTheCaller(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		fake       *redmineFake
		old, other string // in the settings
		code       fault.Code
		detail     string // for a caller and for the person who verifies the connection
		names      string // for the person who verifies the connection
		given      crm.NewTicket
	}{
		"no such project": {fake: &redmineFake{}, old: "projects/support/", other: "projects/suport/",
			code: fault.Unsupported, detail: "Correct the project in the paths"},
		"no right": {fake: &redmineFake{mayNotAdd: true}, code: fault.Forbidden,
			detail: "Give its role the permission to add issues"},
		"required fields": {fake: &redmineFake{
			fields: map[int]string{3: "Cost centre", 4: "Floor"}, required: []int{3, 4},
		}, code: fault.Unsupported,
			detail: "Set them in create.steps[0].body", names: ": Cost centre, Floor."},
		"required fields, and a status that is fine": {fake: &redmineFake{
			fields: map[int]string{3: "Status of the lease"}, required: []int{3},
		}, code: fault.Unsupported,
			detail: "Set them in create.steps[0].body", names: ": Status of the lease.",
			given: crm.NewTicket{OwnerID: "5"}},
		"required fields whose names begin as those of the call's": {fake: &redmineFake{
			fields: map[int]string{
				3: "Assignee team", 4: "Status of the lease", 5: "Priority class", 6: "Subject area",
			}, required: []int{3, 4, 5, 6},
		}, code: fault.Unsupported, detail: "Set them in create.steps[0].body",
			names: ": Assignee team, Status of the lease, Priority class, Subject area.",
			given: crm.NewTicket{OwnerID: "5", Status: "New", Priority: "High"}},
	} {
		t.Run(rule, func(t *testing.T) {
			_, d := redmine(t, c.fake, c.old, c.other)
			c.given.Key, c.given.Subject = "k1", "A"
			_, err := d.Create(t.Context(), c.given)
			f := fault.From(err)
			if f == nil || f.Code != c.code || len(f.Fields) > 0 || !strings.Contains(f.Detail, c.detail) ||
				c.names != "" && strings.Contains(f.Detail, c.names) {
				t.Errorf("create: %+v", f)
			}
			_, err = d.(crm.Explainer).Explain(t.Context())
			f = fault.From(err)
			if f == nil || f.Code != c.code || !strings.Contains(f.Detail, c.detail+c.names) ||
				!strings.Contains(f.Detail, "check.steps[0] (refused)") {
				t.Errorf("verify: %+v", f)
			}
			if c.fake.count() != 0 {
				t.Errorf("%d issues", c.fake.count())
			}
		})
	}
	t.Run("another language", func(t *testing.T) {
		_, d := redmine(t, &redmineFake{language: "de"}, "", "")
		_, err := d.(crm.Explainer).Explain(t.Context())
		if f := fault.From(err); f == nil || f.Code != fault.Unsupported ||
			!strings.Contains(f.Detail, "Set English") {
			t.Errorf("verify: %+v", f)
		}
	})
	t.Run("a required field that a step sets", func(t *testing.T) {
		fake := &redmineFake{fields: map[int]string{3: "Cost centre"}, required: []int{3}}
		_, d := redmine(t, fake, "{issue: ({", `{issue: ({custom_fields: [{id: 3, value: "Phone"}], `)
		if _, err := d.(crm.Explainer).Explain(t.Context()); err != nil {
			t.Errorf("verify: %v", err)
		}
		if _, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A"}); err != nil ||
			fake.count() != 1 {
			t.Errorf("create: %v, %d issues", err, fake.count())
		}
	})
}

func TestFaultsOfAnEmptyRequestTracker(t *testing.T) {
	t.Parallel()
	at := func(t *testing.T, fake *rtFake, old, other string) (rtServer, crm.Driver) {
		s := rtServer{serve(t, fake, asRT)}
		return s, s.open(t, substitute(exampleAt(t, "request-tracker.yaml", s.at("")), old, other).(object))
	}
	_, d := at(t, &rtFake{mayNotCreate: true}, "", "")
	_, err := d.(crm.Explainer).Explain(t.Context())
	if f := fault.From(err); f == nil || f.Code != fault.Forbidden ||
		!strings.Contains(f.Detail, "Give it the right CreateTicket") {
		t.Errorf("no right: %+v", f)
	}
	_, d = at(t, &rtFake{}, "General", "Generl")
	if _, err := d.(crm.Explainer).Explain(t.Context()); !errors.Is(err, fault.Unsupported) {
		t.Errorf("no such queue: %v", err)
	}
	_, d = at(t, &rtFake{users: []rtUserRecord{{Name: "desk", EmailAddress: "desk@example.com"}}}, "", "")
	if lines, err := d.(crm.Explainer).Explain(t.Context()); err != nil {
		t.Errorf("nothing wrong: %v\n%s", err, strings.Join(lines, "\n"))
	}
	sameUsers(t, d)
}

func TestAnEmptyTicketSystemIsVerified(t *testing.T) {
	t.Parallel()
	settings := exampleAt(t, "redmine.yaml", "")
	settings["sample_number"] = "1"
	fake := &redmineFake{}
	s := redmineServer{serve(t, fake, asRedmine), fake}
	settings["base_url"] = s.url
	lines, err := s.open(t, settings).(crm.Explainer).Explain(t.Context())
	if err != nil || !slices.Contains(lines,
		"check.steps[0] (refused): POST /projects/support/issues.json answered 422") ||
		!slices.Contains(lines, "get: found no ticket with exactly the sample_number 1") || fake.count() != 0 {
		t.Errorf("Redmine: %v, %d issues\n%s", err, fake.count(), strings.Join(lines, "\n"))
	}
}

// verifiedByWhatItsUserMay checks a new Request Tracker's set-up as its root and as a user who may do nothing.
func verifiedByWhatItsUserMay(t *testing.T, account servertest.Account) {
	t.Helper()
	as := func(user, password string) crm.Driver {
		s := rtServer{serve(t, proxyTo(t, account.URL), func(r *http.Request) { r.SetBasicAuth(user, password) })}
		settings := exampleAt(t, "request-tracker.yaml", s.at(""))
		settings["sample_number"] = "1"
		return s.open(t, settings)
	}
	if lines, err := as(account.User, account.Password).(crm.Explainer).Explain(t.Context()); err != nil ||
		!slices.Contains(lines, "get: found no ticket with exactly the sample_number 1") {
		t.Errorf("as root: %v\n%s", err, strings.Join(lines, "\n"))
	}
	root := rtServer{serve(t, proxyTo(t, account.URL),
		func(r *http.Request) { r.SetBasicAuth(account.User, account.Password) })}
	user := map[string]any{
		"Name": "desk", "Password": "secret12", "EmailAddress": "desk@example.com", "Privileged": 1,
	}
	if err := root.ask(t.Context(), http.MethodPost, root.at("user"), user, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := as("desk", "secret12").(crm.Explainer).Explain(t.Context()); !errors.Is(err, fault.Forbidden) {
		t.Errorf("as a user without rights: %v", err)
	}
	sameUsers(t, as(account.User, account.Password))
}

// sameUsers checks that another name of the same user is not reported as another value.
func sameUsers(t *testing.T, d crm.Driver) {
	t.Helper()
	wanted := crm.NewTicket{Key: "k1", Subject: "A", OwnerID: "ROOT", ContactID: "desk@example.com"}
	made, err := d.Create(t.Context(), wanted)
	if err != nil || made.OwnerID != "ROOT" || made.ContactID != "desk@example.com" {
		t.Errorf("made %+v, %v", made, err)
	}
	found, err := d.(crm.Finder).Find(t.Context(), wanted)
	if err != nil || found.ID != made.ID || found.OwnerID != "ROOT" || found.ContactID != "desk@example.com" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestRedmineIsSearchedForTheKey(t *testing.T) {
	t.Parallel()
	since := time.Now()
	wanted := crm.NewTicket{Key: "abc123", Since: since, Subject: "A", Description: "B"}
	find := func(d crm.Driver) (crm.Ticket, error) { return d.(crm.Finder).Find(context.Background(), wanted) }

	fake := &redmineFake{}
	s, d := redmine(t, fake, "", "")
	made, err := d.Create(t.Context(), wanted)
	if err != nil || made.Description.Body != "B" || fake.issues[0].description != "B\n\nFrontdesk: abc123" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if err := s.Move(t.Context(), made.ID, "Closed"); err != nil {
		t.Fatal(err)
	}
	fake.issues = append(fake.issues, fake.issues[0]) // a copy of it
	if found, err := find(d); err != nil || found.ID != made.ID {
		t.Errorf("a closed issue that was copied: %+v, %v", found, err)
	}
	fake.issues[0].description += "\n\nWe answer within a day."
	if found, err := find(d); err != nil || found.ID != made.ID {
		t.Errorf("an issue to which a person has added: %+v, %v", found, err)
	}
	longer := wanted
	longer.Key = "abc12"
	if _, err := d.(crm.Finder).Find(t.Context(), longer); !errors.Is(err, fault.NotFound) {
		t.Errorf("the beginning of another key: %v", err)
	}

	// If descriptions are dropped, a search for the key without a result proves nothing.
	fake = &redmineFake{readOnly: []string{"description"}}
	_, d = redmine(t, fake, "", "")
	if made, err := d.Create(t.Context(), wanted); err != nil || made.Description.Body != "" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if _, err := find(d); !errors.Is(err, fault.Unsupported) {
		t.Errorf("where descriptions are dropped: %v, want no claim that there is none", err)
	}
	fake.issues[0].created = since.Add(-time.Hour)
	if _, err := find(d); !errors.Is(err, fault.NotFound) {
		t.Errorf("where the newest issue is older than the call: %v", err)
	}

	// With a custom field, as the example's comments say.
	fake = &redmineFake{fields: map[int]string{7: "Call"}}
	s = redmineServer{serve(t, fake, asRedmine), fake}
	settings := exampleAt(t, "redmine.yaml", s.url)
	settings = substitute(settings,
		`([.ticket.description, "Frontdesk: " + .key] | map(select(. != null)) | join("\n\n"))`,
		".ticket.description, custom_fields: [{id: 7, value: .key}]").(object)
	settings["by_key"] = object{
		"steps": []any{object{"name": "marked", "path": "projects/support/issues.json", "query": object{
			"cf_7": "={.key}", "status_id": "*",
		}}},
		"number": `.key as $key | [.steps.marked.body.issues[] | select(.custom_fields | any(.id == 7 and .value == $key)) | .id] | min`,
	}
	d = s.open(t, settings)
	if _, err := find(d); !errors.Is(err, fault.NotFound) {
		t.Errorf("none by a custom field: %v", err)
	}
	if made, err = d.Create(t.Context(), wanted); err != nil || fake.issues[0].description != "B" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if found, err := find(d); err != nil || found.ID != made.ID {
		t.Errorf("by a custom field: %+v, %v", found, err)
	}
}
