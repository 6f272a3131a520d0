package crmtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// createChecks returns the checks of Create and NewTicket.
func createChecks() []Check {
	return []Check{
		{Name: "Create answers the ticket as the CRM has it, number included", Bound: reads, Do: createAnswersTheTicket},
		{Name: "Create makes one ticket", Bound: provides[Counter], Do: createMakesOne},
		{Name: "numbers are padded to NumberWidth",
			Bound: func(h Harness) bool { return traits(h).NumberWidth > 0 }, Do: numbersArePadded},
		{Name: "every label of the vocabulary can be given, and comes back as spelled there", Do: labelsComeBack},
		{Name: "no status is the CRM's default", Bound: func(h Harness) bool { return h.DefaultStatus != "" },
			Do: defaultStatus},
		{Name: "no priority is the CRM's default", Bound: func(h Harness) bool { return h.DefaultPriority != "" },
			Do: defaultPriority},
		{Name: "a description is plain text, whatever it looks like", Do: descriptionIsPlain},
		{Name: "what has no source is left empty", Bound: reads, Do: nothingInvented},
		{Name: "a value that the CRM drops is refused, or is not answered as if it were there",
			Bound: provides[ValueDropper], Do: droppedIsNotAnswered},
		{Name: "creation has the provider's time, where it has any", Do: creationTime},
	}
}

// newKey returns a random key that no account has seen.
func newKey() string { return strings.ToLower(rand.Text()) }

func newTicket(subject string) crm.NewTicket { return crm.NewTicket{Key: newKey(), Subject: subject} }

func createAnswersTheTicket(ctx context.Context, h Harness) error {
	want := newTicket("Leaking pipe in room 12")
	want.Description = "Water on the floor."
	made, err := h.Open().Create(ctx, want)
	if err != nil {
		return err
	}
	if made.ID == "" || made.Number == "" || made.Subject != want.Subject ||
		!says(made.Description, want.Description) {
		return fmt.Errorf("Create of %+v answered %+v, want id, number, subject and description", want, made)
	}
	read, err := h.Open().ByNumber(ctx, made.Number)
	if err != nil {
		return fmt.Errorf("reading the new ticket back: %w", err)
	}
	return sameTicket(made, read)
}

// sameTicket returns an error if two reads differ in anything but the time of update and the last comment.
func sameTicket(a, b crm.Ticket) error {
	a.UpdatedAt, b.UpdatedAt = time.Time{}, time.Time{}
	a.LastComment, b.LastComment = crm.Text{}, crm.Text{}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return fmt.Errorf("the ticket was created at %s and at %s", a.CreatedAt, b.CreatedAt)
	}
	a.CreatedAt, b.CreatedAt = time.Time{}, time.Time{}
	if a != b {
		return fmt.Errorf("the ticket is answered as %+v and as %+v", a, b)
	}
	return nil
}

func createMakesOne(ctx context.Context, h Harness) error {
	return wantMore(ctx, h, 1, func() error {
		_, err := h.Open().Create(ctx, newTicket("One ticket"))
		return err
	})
}

// wantMore runs do and returns an error unless the account then has exactly that many more tickets.
func wantMore(ctx context.Context, h Harness, more int, do func() error) error {
	counter := h.Provider.(Counter)
	before, err := counter.Tickets(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := counter.Tickets(ctx)
	if err != nil {
		return err
	}
	if after-before != more {
		return fmt.Errorf("the account has %d tickets more, want %d", after-before, more)
	}
	return nil
}

func numbersArePadded(ctx context.Context, h Harness) error {
	width := traits(h).NumberWidth
	t, err := h.Open().Create(ctx, newTicket("A padded number"))
	if err != nil {
		return err
	}
	if strings.Trim(t.Number, "0123456789") != "" || len(t.Number) < width ||
		len(t.Number) > width && t.Number[0] == '0' {
		return fmt.Errorf("the number is %q, want digits padded with zeros to %d", t.Number, width)
	}
	return nil
}

func labelsComeBack(ctx context.Context, h Harness) error {
	v, err := h.Open().Vocabulary(ctx)
	if err != nil {
		return err
	}
	for _, status := range v.Statuses {
		t := newTicket("A ticket that is " + status)
		t.Status = status
		made, err := h.Open().Create(ctx, t)
		if err != nil {
			return fmt.Errorf("Create with status %q: %w", status, err)
		}
		if made.Status != status {
			return fmt.Errorf("Create with status %q answered status %q", status, made.Status)
		}
	}
	for _, priority := range v.Priorities {
		t := newTicket("A ticket of priority " + priority)
		t.Priority = priority
		made, err := h.Open().Create(ctx, t)
		if err != nil {
			return fmt.Errorf("Create with priority %q: %w", priority, err)
		}
		if made.Priority != priority {
			return fmt.Errorf("Create with priority %q answered priority %q", priority, made.Priority)
		}
	}
	return nil
}

func defaultStatus(ctx context.Context, h Harness) error {
	made, err := h.Open().Create(ctx, newTicket("No status given"))
	if err != nil {
		return err
	}
	if made.Status != h.DefaultStatus {
		return fmt.Errorf("the status is %q, want the default %q", made.Status, h.DefaultStatus)
	}
	return nil
}

func defaultPriority(ctx context.Context, h Harness) error {
	made, err := h.Open().Create(ctx, newTicket("No priority given"))
	if err != nil {
		return err
	}
	if made.Priority != h.DefaultPriority {
		return fmt.Errorf("the priority is %q, want the default %q", made.Priority, h.DefaultPriority)
	}
	return nil
}

func descriptionIsPlain(ctx context.Context, h Harness) error {
	for _, description := range []string{
		"Two lines:\nthe second.",
		"Zürich, 東京, 👋🏽",
		"if a < b && c > d then <b>not bold</b> &amp; not an entity",
		`{"json": "no more than text"} 'quoted' \ %s`,
	} {
		t := newTicket("Text as it is")
		t.Description = description
		made, err := h.Open().Create(ctx, t)
		if err != nil {
			return fmt.Errorf("Create with description %q: %w", description, err)
		}
		if !says(made.Description, description) {
			return fmt.Errorf("the description %q came back as %+v", description, made.Description)
		}
	}
	return nil
}

var (
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>|</p>|</div>`)
	tag       = regexp.MustCompile(`<[^>]*>`)
)

// says reports whether t has exactly these words. In HTML it ignores markup and differences in white space.
func says(t crm.Text, words string) bool {
	if !t.HTML {
		return t.Body == words
	}
	shown := html.UnescapeString(tag.ReplaceAllString(lineBreak.ReplaceAllString(t.Body, "\n"), ""))
	return strings.Join(strings.Fields(shown), " ") == strings.Join(strings.Fields(words), " ")
}

func nothingInvented(ctx context.Context, h Harness) error {
	made, err := h.Open().Create(ctx, newTicket("Nothing but a subject"))
	if err != nil {
		return err
	}
	read, err := h.Open().ByNumber(ctx, made.Number)
	if err != nil {
		return err
	}
	for _, t := range []crm.Ticket{made, read} {
		// Some CRMs require a description. Their drivers send the subject.
		described := t.Description.Body != "" && !says(t.Description, t.Subject)
		if described || t.LastComment.Body != "" || !t.ClosedAt.IsZero() || !t.ResolvedAt.IsZero() {
			return fmt.Errorf("a new ticket of nothing but a subject is %+v, want no description, comment, closing "+
				"or resolution", t)
		}
	}
	return nil
}

// clockSkew is the largest difference allowed between the provider's clock and ours.
const clockSkew = 5 * time.Minute

func creationTime(ctx context.Context, h Harness) error {
	before := h.Now()
	t, err := h.Open().Create(ctx, newTicket("What time is it"))
	if err != nil {
		return err
	}
	if !t.CreatedAt.IsZero() && (t.CreatedAt.Before(before.Add(-clockSkew)) ||
		t.CreatedAt.After(h.Now().Add(clockSkew))) {
		return fmt.Errorf("the ticket was created at %s, want about %s", t.CreatedAt, before)
	}
	if !t.UpdatedAt.IsZero() && t.UpdatedAt.Before(t.CreatedAt) {
		return fmt.Errorf("the ticket was updated at %s, before it was created at %s", t.UpdatedAt, t.CreatedAt)
	}
	return nil
}

func droppedIsNotAnswered(ctx context.Context, h Harness) error {
	t, err := h.Provider.(ValueDropper).DropValues(ctx)
	if err != nil {
		return err
	}
	t.Key, t.Subject = newKey(), "Something of it is dropped"
	made, err := h.Open().Create(ctx, t)
	if errors.Is(err, fault.Invalid) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, field := range []struct{ name, given, answered string }{
		{"status", t.Status, made.Status}, {"priority", t.Priority, made.Priority},
		{"owner_id", t.OwnerID, made.OwnerID}, {"account_id", t.AccountID, made.AccountID},
		{"contact_id", t.ContactID, made.ContactID},
	} {
		if field.given != "" && field.answered == field.given {
			return fmt.Errorf("Create answered the %s %q, which the CRM dropped", field.name, field.given)
		}
	}
	if t.Description != "" && says(made.Description, t.Description) {
		return fmt.Errorf("Create answered the description %q, which the CRM dropped", t.Description)
	}
	read, err := h.Open().ByNumber(ctx, made.Number)
	if err != nil {
		return err
	}
	return sameTicket(made, read)
}
