package crmtest

import (
	"context"
	"fmt"
	"time"

	"frontdesk/core/crm"
)

// agentChecks returns the checks of how a ticket shows what the CRM's own people do with it.
func agentChecks() []Check {
	return []Check{
		{Name: "the last comment is the most recent public one", Bound: provides[Commenter], Do: lastComment},
		{Name: "a comment's markup is named", Bound: provides[Commenter], Do: commentMarkup},
		{Name: "a change moves the time of update and leaves that of creation", Bound: provides[Commenter],
			Do: changeShows},
		{Name: "status is the label an agent set", Bound: provides[Mover], Do: statusFollows},
		{Name: "a resolved ticket tells when, until it is opened again", Bound: provides[Mover], Do: resolution},
		{Name: "a closed ticket tells when", Bound: provides[Mover], Do: closing},
	}
}

func lastComment(ctx context.Context, h Harness) error {
	commenter := h.Provider.(Commenter)
	t, err := h.Open().Create(ctx, newTicket("A talk about a pipe"))
	if err != nil {
		return err
	}
	for _, step := range []struct {
		comment Comment
		want    string
	}{
		{Comment{Body: "Only for us: the customer is angry."}, ""},
		{Comment{Body: "We are on our way.", Public: true}, "We are on our way."},
		{Comment{Body: "The pipe is mended.", Public: true}, "The pipe is mended."},
		{Comment{Body: "Only for us: send the bill."}, "The pipe is mended."},
	} {
		if err := commenter.Comment(ctx, t.ID, step.comment); err != nil {
			return err
		}
		read, err := h.Open().ByNumber(ctx, t.Number)
		if err != nil {
			return err
		}
		if !says(read.LastComment, step.want) {
			return fmt.Errorf("after the comment %+v the last comment is %+v, want %q", step.comment,
				read.LastComment, step.want)
		}
	}
	return nil
}

func commentMarkup(ctx context.Context, h Harness) error {
	commenter := h.Provider.(Commenter)
	t, err := h.Open().Create(ctx, newTicket("Words with and without markup"))
	if err != nil {
		return err
	}
	for _, step := range []struct {
		comment Comment
		want    string
	}{
		{Comment{Body: "<p>Call <b>me</b> &amp; Ann</p>", HTML: true, Public: true}, "Call me & Ann"},
		{Comment{Body: "3 < 4 &amp; 5 > 4 <b>", Public: true}, "3 < 4 &amp; 5 > 4 <b>"},
	} {
		if err := commenter.Comment(ctx, t.ID, step.comment); err != nil {
			return err
		}
		read, err := h.Open().ByNumber(ctx, t.Number)
		if err != nil {
			return err
		}
		if !says(read.LastComment, step.want) {
			return fmt.Errorf("the comment %+v was answered as %+v", step.comment, read.LastComment)
		}
	}
	return nil
}

// moveTicket creates a ticket, has an agent move it through the labels, and reads it back.
func moveTicket(ctx context.Context, h Harness, labels ...string) (crm.Ticket, error) {
	t, err := h.Open().Create(ctx, newTicket("A ticket on its way"))
	if err != nil {
		return t, err
	}
	for _, label := range labels {
		if err := h.Provider.(Mover).Move(ctx, t.ID, label); err != nil {
			return t, err
		}
	}
	return h.Open().ByNumber(ctx, t.Number)
}

func statusFollows(ctx context.Context, h Harness) error {
	resolved, closed, reopened := h.Provider.(Mover).Labels()
	for _, label := range []string{resolved, closed, reopened} {
		if label == "" {
			continue
		}
		t, err := moveTicket(ctx, h, label)
		if err != nil {
			return err
		}
		if t.Status != label {
			return fmt.Errorf("the status is %q, an agent set %q", t.Status, label)
		}
	}
	return nil
}

func resolution(ctx context.Context, h Harness) error {
	resolved, _, reopened := h.Provider.(Mover).Labels()
	if resolved == "" {
		return nil
	}
	t, err := moveTicket(ctx, h, resolved)
	if err != nil {
		return err
	}
	if err := wantTime(h, "resolution", t.ResolvedAt); err != nil {
		return err
	}
	if reopened == "" {
		return nil
	}
	if t, err = moveTicket(ctx, h, resolved, reopened); err != nil {
		return err
	}
	if !t.ResolvedAt.IsZero() || !t.ClosedAt.IsZero() {
		return fmt.Errorf("a ticket that was opened again has resolution %s and closing %s",
			t.ResolvedAt, t.ClosedAt)
	}
	return nil
}

func closing(ctx context.Context, h Harness) error {
	_, closed, _ := h.Provider.(Mover).Labels()
	if closed == "" {
		return nil
	}
	t, err := moveTicket(ctx, h, closed)
	if err != nil {
		return err
	}
	return wantTime(h, "closing", t.ClosedAt)
}

// wantTime returns an error unless at is about now. It accepts a zero time if the provider records no times.
func wantTime(h Harness, of string, at time.Time) error {
	if at.IsZero() && !provides[TellsTimes](h) {
		return nil
	}
	if now := h.Now(); at.Before(now.Add(-clockSkew)) || at.After(now.Add(clockSkew)) {
		return fmt.Errorf("the time of %s is %s, want about %s", of, at, now)
	}
	return nil
}

func changeShows(ctx context.Context, h Harness) error {
	t, err := h.Open().Create(ctx, newTicket("A ticket that changes"))
	if err != nil {
		return err
	}
	if err := h.Provider.(Commenter).Comment(ctx, t.ID, Comment{Body: "A change.", Public: true}); err != nil {
		return err
	}
	read, err := h.Open().ByNumber(ctx, t.Number)
	if err != nil {
		return err
	}
	if !read.CreatedAt.Equal(t.CreatedAt) || read.UpdatedAt.Before(t.UpdatedAt) {
		return fmt.Errorf("after a change the ticket was created at %s and updated at %s, before it at %s and %s",
			read.CreatedAt, read.UpdatedAt, t.CreatedAt, t.UpdatedAt)
	}
	return nil
}
