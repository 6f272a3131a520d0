package hubspot

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// thread is a conversation with a contact
// (developers.hubspot.com/docs/api-reference/latest/conversations/conversations/guide).
type thread struct {
	ID           string `json:"id"`
	Latest       string `json:"latestMessageTimestamp"`
	Spam         bool   `json:"spam"`
	Archived     bool   `json:"archived"`
	Associations struct {
		TicketID string `json:"associatedTicketId"`
	} `json:"threadAssociations"`
}

// message is an entry of a thread. The customer sees only a MESSAGE. A COMMENT is for colleagues.
type message struct {
	Type      string `json:"type"`
	CreatedAt string `json:"createdAt"`
	Text      string `json:"text"`
	RichText  string `json:"richText"`
	Archived  bool   `json:"archived"`
}

const (
	// readThreads is how many of a ticket's conversations are read. Most tickets have one, and another after
	// each reopening.
	readThreads = 2
	// noComments is how long the driver remembers that conversations cannot be read.
	noComments = time.Hour
)

// lastComment returns the newest message to or from the contact about the ticket. Threads cannot be requested
// by ticket, so it looks through the contact's newest hundred of each status, in at most four requests. It
// returns no text if the connection may not read conversations or the API's version has none, and does not
// try again for a while. Any other failure makes the whole read fail: a ticket does not lose its comment
// because HubSpot is busy.
func (d *driver) lastComment(ctx context.Context, ticketID, contactID string) (crm.Text, error) {
	if _, silent := d.silence.Get(d.now()); silent || !isID(contactID) {
		return crm.Text{}, nil
	}
	threads, err := d.threadsOf(ctx, ticketID, contactID)
	var last message
	for i := 0; err == nil && i < min(len(threads), readThreads); i++ {
		var newest message
		newest, err = d.newestMessage(ctx, threads[i].ID)
		if instant(newest.CreatedAt).After(instant(last.CreatedAt)) {
			last = newest
		}
	}
	switch {
	case errors.Is(err, fault.NotFound): // the contact is gone
		return crm.Text{}, nil
	case errors.Is(err, fault.Forbidden), upstream.HasStatus(err, http.StatusNotFound, http.StatusGone):
		d.silence.Put(struct{}{}, d.now().Add(noComments))
		return crm.Text{}, nil
	case err != nil:
		return crm.Text{}, err
	case strings.TrimSpace(last.Text) != "":
		return crm.Plain(last.Text), nil
	}
	return crm.Text{Body: last.RichText, HTML: last.RichText != ""}, nil
}

// threadsOf lists the ticket's threads, the one with the newest entry first.
func (d *driver) threadsOf(ctx context.Context, ticketID, contactID string) ([]thread, error) {
	var list []thread
	for _, status := range []string{"OPEN", "CLOSED"} { // with a contact, a status is required
		var page struct {
			Results []thread `json:"results"`
		}
		err := d.get(ctx, "/conversations/conversations/"+d.version+"/threads", url.Values{
			"associatedContactId": {contactID}, "association": {"TICKET"}, "threadStatus": {status}, "sort": {"-id"},
			"limit": {"100"},
		}, &page)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Results...)
	}
	list = slices.DeleteFunc(list, func(t thread) bool {
		return t.Associations.TicketID != ticketID || t.Spam || t.Archived || !isID(t.ID)
	})
	slices.SortStableFunc(list, func(a, b thread) int {
		return cmp.Compare(instant(b.Latest).UnixNano(), instant(a.Latest).UnixNano())
	})
	return list, nil
}

// newestMessage returns the newest message among a thread's newest fifty entries, which may be long. A deleted
// thread has none.
func (d *driver) newestMessage(ctx context.Context, threadID string) (message, error) {
	var page struct {
		Results []message `json:"results"`
	}
	err := d.get(ctx, "/conversations/conversations/"+d.version+"/threads/"+threadID+"/messages",
		url.Values{"sort": {"-createdAt"}, "limit": {"50"}}, &page)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return message{}, err
	}
	var newest message
	for _, m := range page.Results {
		if m.Type == "MESSAGE" && !m.Archived && instant(m.CreatedAt).After(instant(newest.CreatedAt)) {
			newest = m
		}
	}
	return newest, nil
}
