package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

// Explain implements crm.Explainer. It requests the account and the vocabulary, runs the steps of check,
// shows what create would send first, looks for a ticket by a key, and reads the ticket of sample_number. It opens
// no ticket, since that would stay.
func (d *driver) Explain(ctx context.Context) ([]string, error) {
	var lines []string
	note := func(line string) { lines = append(lines, line) }
	begin := func(input map[string]any) *run {
		r := d.begin(input)
		r.trace, r.forOperator = note, true
		return r
	}
	account, err := d.account(ctx, begin(map[string]any{}))
	if err != nil {
		return lines, err
	}
	note("account" + facts("name", account.Name, "email", account.Email))
	if len(d.vocabulary) > 0 {
		known, err := d.labels(ctx, begin(map[string]any{}))
		if err != nil {
			return lines, err
		}
		note("vocabulary" + facts("statuses", strings.Join(known.Statuses, ", "), "priorities",
			strings.Join(known.Priorities, ", ")))
	}
	if err := begin(map[string]any{"ticket": asInput(crm.NewTicket{}), "key": rehearsalKey}).
		steps(ctx, d.check); err != nil {
		return lines, err
	}
	line, err := d.rehearse(ctx)
	if err != nil {
		return lines, err
	}
	note(line)
	if err := d.explainKey(ctx, begin, note); err != nil {
		return lines, err
	}
	if err := d.explainCaller(ctx, begin, note); err != nil {
		return lines, err
	}
	if d.createOnly {
		note("get: not described; tickets are only opened")
		return lines, nil
	}
	number := d.settings.SampleNumber
	if number == "" {
		note("get: not tried; set sample_number to the number of a ticket")
		return lines, nil
	}
	if !d.sendable(number) {
		return lines, fault.InvalidField("settings.sample_number", "is not a number that number_pattern allows.")
	}
	t, err := d.reading(ctx, begin(map[string]any{"number": number}), number)
	if errors.Is(err, fault.NotFound) { // a new system may have no ticket yet
		note("get: found no ticket with exactly the sample_number " + number)
		return lines, nil
	}
	if err != nil {
		return lines, err
	}
	note("ticket" + facts(
		"id", t.ID, "number", t.Number, "subject", t.Subject, "description", t.Description.Body, "status", t.Status,
		"priority", t.Priority,
		"owner_id", t.OwnerID, "account_id", t.AccountID, "contact_id", t.ContactID, "created_at",
		moment(t.CreatedAt), "updated_at", moment(t.UpdatedAt),
		"closed_at", moment(t.ClosedAt), "resolved_at", moment(t.ResolvedAt), "last_comment", t.LastComment.Body))
	return lines, nil
}

// explainKey looks for a ticket with a key that no ticket has. Where it finds one, each caller whose answer is lost
// would be told that ticket. The call seems to begin in a moment, so that no ticket is as new as it, also where the
// settings allow for clocks that differ by five minutes.
func (d *driver) explainKey(ctx context.Context, begin func(map[string]any) *run, note func(line string)) error {
	if !d.keyNumber.given() {
		return nil
	}
	since := d.now().Add(6 * time.Minute).UTC().Format(time.RFC3339)
	r := begin(map[string]any{"key": rehearsalKey, "since": since})
	number, err := "", r.steps(ctx, d.byKey)
	if err == nil {
		number, err = d.keyNumber.text(ctx, r.input)
	}
	switch {
	case err != nil && !errors.Is(err, fault.NotFound):
		return err
	case number != "":
		return misfit(d.keyNumber.setting, "gives a ticket for a key that no ticket has; the search may ignore the key")
	}
	note("by_key: found no ticket with a key that none has")
	return nil
}

// explainCaller looks up the contacts with sample_phone, and the open tickets of the first.
func (d *driver) explainCaller(
	ctx context.Context, begin func(map[string]any) *run, note func(line string),
) error {
	if !d.contacts.given() {
		return nil
	}
	if d.settings.SamplePhone == "" {
		note("find_contacts: not tried; set sample_phone to the number of a contact")
		return nil
	}
	n, err := phonenumber.Parse(d.settings.SamplePhone)
	if err != nil {
		return fault.InvalidField("settings.sample_phone",
			"is not a telephone number with a country code, such as "+
				"+15135557611.")
	}
	found, err := d.contactsOf(ctx, begin, crm.ContactQuery{Phone: n, Limit: 10})
	if err != nil {
		return err
	}
	if len(found.Contacts) == 0 {
		note("find_contacts: found no contact with the sample_phone " + n.E164)
		return nil
	}
	c := found.Contacts[0]
	note("contact" + facts("id", c.ID, "name", c.Name, "emails", strings.Join(c.Emails, ", "), "phones",
		strings.Join(c.Phones, ", "), "account_id", c.AccountID, "account_name", c.AccountName))
	open, err := d.openTicketsOf(ctx, begin, c.ID, 10)
	if err != nil {
		return err
	}
	note(fmt.Sprintf("open_tickets: %d", len(open)))
	return nil
}

// rehearsalKey is the key of a ticket that is never opened.
const rehearsalKey = "0verify0"

// rehearse describes the request that opens a ticket, or an earlier one whose response it depends on. It does
// not send it.
func (d *driver) rehearse(ctx context.Context) (string, error) {
	sample := crm.NewTicket{
		Key: rehearsalKey, Subject: "A subject", Description: "A description.", OwnerID: "1", AccountID: "1",
		ContactID: "1",
	}
	known, err := d.ask(ctx, d.begin(map[string]any{}))
	if err != nil {
		return "", err
	}
	if len(known.statuses) > 0 {
		sample.Status = known.statuses[0].name
	}
	if len(known.priorities) > 0 {
		sample.Priority = known.priorities[0].name
	}
	for name, value := range map[string]*string{
		"description": &sample.Description, "status": &sample.Status, "priority": &sample.Priority,
		"owner_id": &sample.OwnerID, "account_id": &sample.AccountID, "contact_id": &sample.ContactID,
	} {
		if !d.settable[name] {
			*value = ""
		}
	}
	ticket, err := d.newTicket(ctx, sample)
	if err != nil {
		return "", err
	}
	r := d.begin(map[string]any{"ticket": ticket, "key": sample.Key})
	first := d.compiled.create[slices.IndexFunc(d.compiled.create,
		func(s step) bool { return s.acts || !s.when.given() })]
	for _, s := range d.compiled.create {
		r.done[s.name] = nil
	}
	req, err := r.request(ctx, first)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s: would send %s %s", first.label, req.Method, req.URL.EscapedPath())
	if req.Body == nil {
		return line, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return "", fault.From(err)
	}
	if json.Valid(body) {
		return line + " " + short(string(body), 600), nil
	}
	return line + " " + strconv.Quote(short(string(body), 600)), nil
}

// facts formats names and values. It leaves out empty values.
func facts(pairs ...string) string {
	var listed []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			listed = append(listed, pairs[i]+" "+strconv.Quote(short(pairs[i+1], 80)))
		}
	}
	if len(listed) == 0 {
		return ": nothing"
	}
	return ": " + strings.Join(listed, ", ")
}

func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
