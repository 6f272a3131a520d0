package rest

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

var (
	_ crm.Driver        = (*driver)(nil)
	_ crm.Explainer     = (*driver)(nil)
	_ crm.Finder        = finder{}
	_ crm.ContactFinder = contactFinder{}
	_ crm.Finder        = fullFinder{}
	_ crm.ContactFinder = fullFinder{}
)

type driver struct {
	*compiled
	http *http.Client
	now  func() time.Time

	words crm.Remembered[words]
}

// finder is a driver whose settings describe how to find a ticket by its key.
type finder struct{ *driver }

func open(s settings, shared map[string]parsed, env adapter.Environment) (crm.Driver, error) {
	c := compile(s, shared)
	if len(c.faults) > 0 {
		return nil, fault.InvalidFields(c.faults...)
	}
	c.parser = nil // it is not needed any more
	d := &driver{compiled: c, http: env.HTTP, now: env.Now}
	switch {
	case c.keyNumber.given() && c.contacts.given():
		return fullFinder{d, finder{d}, contactFinder{d}}, nil
	case c.keyNumber.given():
		return finder{d}, nil
	case c.contacts.given():
		return contactFinder{d}, nil
	}
	return d, nil
}

// Traits implements crm.Driver.
func (d *driver) Traits() crm.Traits {
	return crm.Traits{
		IdempotentCreate: d.settings.IdempotencyHeader != "", FindsByKey: d.keyNumber.given(),
		CreateOnly: d.createOnly, NumberWidth: d.settings.NumberWidth, MaxConcurrent: d.settings.MaxConcurrent,
	}
}

// Account implements crm.Driver.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	return d.account(ctx, d.begin(map[string]any{}))
}

func (d *driver) account(ctx context.Context, r *run) (crm.Account, error) {
	if err := r.steps(ctx, d.compiled.account); err != nil {
		return crm.Account{}, err
	}
	name, err := d.accountName.text(ctx, r.input)
	if err != nil {
		return crm.Account{}, err
	}
	email, err := d.accountEmail.text(ctx, r.input)
	if strings.Count(email, "@") != 1 {
		email = ""
	}
	return crm.Account{Name: name, Email: email}, err
}

// Create implements crm.Driver.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	ticket, err := d.newTicket(ctx, t)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	r := d.begin(map[string]any{"ticket": ticket, "key": t.Key})
	r.key = t.Key
	made, number, err := d.create(ctx, r)
	if err == nil {
		err = d.restoreIDs(ctx, r, d.otherIDs(t, &made))
	}
	if !d.sendable(number) {
		number = "" // text of the ticket system, which no fault repeats
	}
	if err != nil && r.acted {
		return crm.Ticket{}, d.afterActing(ctx, r, err, number)
	}
	if err != nil && len(r.ahead) > 0 && !r.ahead[0].acts { // the step that failed
		return crm.Ticket{}, fault.Unacted(err)
	}
	return made, err
}

// create opens the ticket. It returns the number as soon as it is known, also with an error.
func (d *driver) create(ctx context.Context, r *run) (made crm.Ticket, number string, err error) {
	if err := r.steps(ctx, d.compiled.create); err != nil {
		return crm.Ticket{}, "", err
	}
	if !d.createNumber.given() {
		made, err := d.createTicket.ticket(ctx, r)
		return made, made.Number, err
	}
	if number, err = d.createNumber.text(ctx, r.input); err != nil {
		return crm.Ticket{}, "", err
	}
	if !d.sendable(number) {
		return crm.Ticket{}, "", misfit(d.createNumber.setting,
			"does not give a number that number_pattern allows")
	}
	made, err = d.reading(ctx, d.begin(map[string]any{"number": number, "key": r.key}), number)
	return made, number, err
}

// newTicket returns the ticket as create's expressions see it. It fails if a field cannot be set.
func (d *driver) newTicket(ctx context.Context, t crm.NewTicket) (map[string]any, error) {
	ticket := asInput(t)
	err := d.unsettable(ticket)
	if err != nil {
		return nil, err
	}
	if ticket["status_value"], err = d.valueOf(ctx, "status", d.statuses, words.statusLabels,
		t.Status); err != nil {
		return nil, err
	}
	ticket["priority_value"], err = d.valueOf(ctx, "priority", d.priorities, words.priorityLabels, t.Priority)
	return ticket, err
}

// asInput returns a new ticket as expressions see it, without the values of its labels. A field that is not
// given is null.
func asInput(t crm.NewTicket) map[string]any {
	ticket := map[string]any{"status_value": nil, "priority_value": nil}
	for name, text := range map[string]string{
		"subject": t.Subject, "description": t.Description, "status": t.Status, "priority": t.Priority,
		"owner_id": t.OwnerID, "account_id": t.AccountID, "contact_id": t.ContactID,
	} {
		ticket[name] = nil
		if text != "" {
			ticket[name] = text
		}
	}
	return ticket
}

// ByNumber implements crm.Driver.
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	if d.createOnly {
		return crm.Ticket{}, fault.New(fault.Unsupported, fault.ReasonNotSupported,
			"The connected ticket system opens tickets for other programs, and shows them none.")
	}
	if !d.sendable(number) {
		return crm.Ticket{}, noTicket(nil)
	}
	return d.read(ctx, number)
}

// harmless matches characters that neither end a text nor begin a condition in any query language, and stay
// in their segment of a path.
var harmless = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)

// sendable reports whether a number may be sent.
func (d *driver) sendable(number string) bool {
	return harmless.MatchString(number) && strings.Trim(number, ".") != "" && d.number.MatchString(number)
}

// read looks up a ticket by its number. It returns the ticket only if that is exactly its number: systems
// read "007" as 7. One that tells what became of a moved ticket may answer with another number.
func (d *driver) read(ctx context.Context, number string) (crm.Ticket, error) {
	return d.reading(ctx, d.begin(map[string]any{"number": number}), number)
}

func (d *driver) reading(ctx context.Context, r *run, number string) (crm.Ticket, error) {
	if err := r.steps(ctx, d.get); err != nil {
		return crm.Ticket{}, err
	}
	t, err := d.ticket.ticket(ctx, r)
	if err != nil {
		return crm.Ticket{}, err
	}
	if t.Number != number && !d.settings.Get.Moves {
		return crm.Ticket{}, noTicket(nil)
	}
	return t, nil
}

// readAgain is the wait before another read of a ticket that exists and cannot be read yet.
const readAgain = 5 * time.Second

// missing returns the fault for a ticket that a search did not find: it may be too new for the search.
func (d *driver) missing(wanted crm.NewTicket) error {
	last := wanted.Until // every Create of it had ended by then
	if last.IsZero() {
		last = d.now()
	}
	if known := last.Add(d.settings.ByKey.Lag); d.settings.ByKey.Lag > 0 && d.now().Before(known) {
		return fault.NotKnownYet("The ticket system's search does not know yet whether the ticket is there.",
			known.Sub(d.now()))
	}
	return noTicket(nil)
}

// Find implements crm.Finder.
func (f finder) Find(ctx context.Context, wanted crm.NewTicket) (crm.Ticket, error) {
	d := f.driver
	r := d.begin(map[string]any{"key": wanted.Key, "since": nil})
	if !wanted.Since.IsZero() {
		r.input["since"] = wanted.Since.UTC().Format(time.RFC3339)
	}
	if err := r.steps(ctx, d.byKey); err != nil {
		return crm.Ticket{}, err
	}
	number, err := d.keyNumber.text(ctx, r.input)
	if err != nil {
		return crm.Ticket{}, err
	}
	if number == "" {
		return crm.Ticket{}, d.missing(wanted)
	}
	if !d.sendable(number) {
		return crm.Ticket{}, misfit(d.keyNumber.setting, "does not give a number that number_pattern allows")
	}
	t, err := d.reading(ctx, d.begin(map[string]any{"number": number, "key": wanted.Key}), number)
	if f := fault.From(err); f != nil && f.Code == fault.NotFound {
		// The ticket exists, as the search shows: only reading it lags.
		return crm.Ticket{}, fault.NotKnownYet("The ticket system has the ticket, but does not show it "+
			"yet.", readAgain).Because(err)
	}
	if err != nil {
		return crm.Ticket{}, err
	}
	return t, d.namedAnew(ctx, wanted, &t)
}
