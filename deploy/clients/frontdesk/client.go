// Package frontdesk is a client of the gateway's interface, for the backend of a voice agent.
//
//	desk := frontdesk.Client{URL: "https://frontdesk.example.com", Key: os.Getenv("FRONTDESK_API_KEY")}
//	found, err := desk.FindSlots(ctx, frontdesk.FindSlotsRequest{DurationMinutes: new(int64(30))})
//	agent.Say(found.Say)
//
// An error is an [*Error], which has a sentence to say as well, or one of the network. A change is sent with an
// Idempotency-Key, and sent again if no answer came: it has one effect. The context's deadline ends a call with its
// repeats, and the gateway is given nine tenths of the time to it. Without one, no repeat begins after ten seconds.
//
// The records are generated from the gateway's OpenAPI document. The package needs the standard library only.
package frontdesk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

//go:generate sh -c "go run ../../../cmd/frontdesk openapi --format json | go tool -modfile=../../../.ci/tools.mod oapi-codegen -config types.yaml -o types.gen.go /dev/stdin"

// Client calls a gateway. URL and Key are required. A Client is safe for concurrent use.
type Client struct {
	URL      string // of the gateway, without a path
	Key      string // an API key
	Language string // of the sentences, as in Accept-Language; "": English
	HTTP     *http.Client
}

// Error is a failure that the gateway reports.
type Error struct {
	Status     int           // of HTTP
	Reason     string        // stable, to branch on: SLOT_TAKEN
	Message    string        // for whoever reads the log
	Say        string        // for the caller; "" for phone numbers
	RetryAfter time.Duration // when a repeat can help; 0: it cannot
	Fields     []string      // what is wrong with the request
	Instead    Slots         // what the caller can have in the place of a slot that is taken
}

// Slots are slots that may be offered.
type Slots []Slot

// Error describes the failure.
func (e *Error) Error() string {
	return strings.TrimSpace(fmt.Sprintf("frontdesk: %s (%d): %s %s", e.Reason, e.Status, e.Message,
		strings.Join(e.Fields, "; ")))
}

// ReasonOf returns the reason of a failure that the gateway reports, or "".
func ReasonOf(err error) string {
	if e, is := errors.AsType[*Error](err); is {
		return e.Reason
	}
	return ""
}

type keyKey struct{}

// WithKey returns a context whose changes have this Idempotency-Key, in the place of one of the client's own.
// Use it for one change, and again for a repeat of it: after a crash, for instance.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// FindSlots answers when a meeting can take place.
func (c Client) FindSlots(ctx context.Context, r FindSlotsRequest) (SlotsAnswer, error) {
	return read[SlotsAnswer](ctx, c, "/alpha/calendar/find-slots", r)
}

// HoldSlot keeps a slot for a caller, for minutes.
func (c Client) HoldSlot(ctx context.Context, r HoldSlotRequest) (HoldAnswer, error) {
	return change[HoldAnswer](ctx, c, "/alpha/calendar/hold-slot", r)
}

// ReleaseHold gives a slot back.
func (c Client) ReleaseHold(ctx context.Context, holdID string) error {
	_, err := change[ReleaseAnswer](ctx, c, "/alpha/calendar/release-hold", ReleaseHoldRequest{HoldID: &holdID})
	return err
}

// BookSlot books a slot, or the one that is held.
func (c Client) BookSlot(ctx context.Context, r BookSlotRequest) (BookedAnswer, error) {
	return change[BookedAnswer](ctx, c, "/alpha/calendar/book-slot", r)
}

// FindMeetings returns a caller's meetings, by number or e-mail address.
func (c Client) FindMeetings(ctx context.Context, r FindMeetingsRequest) (MeetingsAnswer, error) {
	return read[MeetingsAnswer](ctx, c, "/alpha/calendar/find-meetings", r)
}

// MoveMeeting moves a meeting to a slot.
func (c Client) MoveMeeting(ctx context.Context, r MoveMeetingRequest) (BookedAnswer, error) {
	return change[BookedAnswer](ctx, c, "/alpha/calendar/move-meeting", r)
}

// CancelByReference cancels a meeting by its short name.
func (c Client) CancelByReference(ctx context.Context, reference string) (CancelledAnswer, error) {
	return change[CancelledAnswer](ctx, c, "/alpha/calendar/cancel-meeting",
		CancelByReferenceRequest{MeetingReference: &reference})
}

// LookUpCaller returns who may be calling.
func (c Client) LookUpCaller(ctx context.Context, r LookUpCallerRequest) (CallerAnswer, error) {
	return read[CallerAnswer](ctx, c, "/alpha/callers/look-up", r)
}

// BookMeeting books a meeting at any time.
func (c Client) BookMeeting(ctx context.Context, r BookMeetingRequest) (MeetingAnswer, error) {
	return change[MeetingAnswer](ctx, c, "/v1/calendar/book-meeting", r)
}

// UpdateMeeting changes the given fields of a meeting.
func (c Client) UpdateMeeting(ctx context.Context, r UpdateMeetingRequest) (MeetingAnswer, error) {
	return change[MeetingAnswer](ctx, c, "/v1/calendar/update-meeting", r)
}

// CancelMeeting cancels a meeting by the provider's id.
func (c Client) CancelMeeting(ctx context.Context, r CancelMeetingRequest) (CancelAnswer, error) {
	return change[CancelAnswer](ctx, c, "/v1/calendar/cancel-meeting", r)
}

// ListEvents lists the events in a window.
func (c Client) ListEvents(ctx context.Context, r ListEventsRequest) (EventsAnswer, error) {
	return read[EventsAnswer](ctx, c, "/v1/calendar/list-events", r)
}

// ListCalendars lists the calendars of the connection.
func (c Client) ListCalendars(ctx context.Context) (CalendarsAnswer, error) {
	return read[CalendarsAnswer](ctx, c, "/v1/calendar/list-calendars", NoFields{})
}

// VerifyCalendarConnection asks the provider whether the connection works.
func (c Client) VerifyCalendarConnection(ctx context.Context) (VerifyAnswer, error) {
	return read[VerifyAnswer](ctx, c, "/v1/calendar/verify-calendar-connection", NoFields{})
}

// CreateTicket opens a ticket.
func (c Client) CreateTicket(ctx context.Context, r CreateTicketRequest) (TicketAnswer, error) {
	return change[TicketAnswer](ctx, c, "/v1/tickets/create-ticket", r)
}

// GetTicket returns a ticket by its number.
func (c Client) GetTicket(ctx context.Context, number string) (TicketAnswer, error) {
	return read[TicketAnswer](ctx, c, "/v1/tickets/get-ticket", GetTicketRequest{TicketNumber: &number})
}

const numbersPath = "/beta/phone-numbers"

func numberPath(id int64) string {
	return numbersPath + "/" + url.PathEscape(strconv.FormatInt(id, 10))
}

// ListPhoneNumbers lists the tenant's phone numbers.
func (c Client) ListPhoneNumbers(ctx context.Context) (answer PhoneNumbersAnswer, err error) {
	return answer, c.call(ctx, http.MethodGet, numbersPath, nil, "", &answer)
}

// GetPhoneNumber returns a phone number.
func (c Client) GetPhoneNumber(ctx context.Context, id int64) (answer PhoneNumber, err error) {
	return answer, c.call(ctx, http.MethodGet, numberPath(id), nil, "", &answer)
}

// BuyPhoneNumber buys a number in an area code.
func (c Client) BuyPhoneNumber(ctx context.Context, r BuyPhoneNumberRequest) (PhoneNumber, error) {
	return change[PhoneNumber](ctx, c, numbersPath, r)
}

// UpdatePhoneNumber changes the given fields of a number: name, inbound_cloud_employee_id and
// outbound_cloud_employee_id. nil unassigns an employee.
func (c Client) UpdatePhoneNumber(
	ctx context.Context, id int64, fields map[string]any,
) (answer PhoneNumber, err error) {
	return answer, c.call(ctx, http.MethodPatch, numberPath(id), fields, keyOf(ctx), &answer)
}

// ReleasePhoneNumber gives a number back.
func (c Client) ReleasePhoneNumber(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodDelete, numberPath(id), nil, keyOf(ctx), nil)
}

func read[Answer any](ctx context.Context, c Client, path string, body any) (answer Answer, err error) {
	return answer, c.call(ctx, http.MethodPost, path, body, "", &answer)
}

func change[Answer any](ctx context.Context, c Client, path string, body any) (answer Answer, err error) {
	return answer, c.call(ctx, http.MethodPost, path, body, keyOf(ctx), &answer)
}

// keyOf returns the Idempotency-Key of a change.
func keyOf(ctx context.Context) string {
	if key, _ := ctx.Value(keyKey{}).(string); key != "" {
		return key
	}
	return rand.Text()
}

// tries is how often a call is sent. A repeat of a read changes nothing, and one of a change has its key.
const tries = 3

// noAnswer is how long the client waits if no answer came.
const noAnswer = 100 * time.Millisecond

// patience is how long repeats may go on where ctx has no deadline: a tenant that has bought its numbers of a day is
// told to come back tomorrow.
const patience = 10 * time.Second

// call sends a request until there is an answer, as long as ctx lives, or for patience.
func (c Client) call(ctx context.Context, method, path string, body any, key string, answer any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return fmt.Errorf("frontdesk: %w", err)
		}
	}
	end, has := ctx.Deadline()
	if !has {
		end = time.Now().Add(patience)
	}
	for try := 1; ; try++ {
		err := c.send(ctx, method, path, raw, key, answer)
		wait := noAnswer
		if refused, is := errors.AsType[*Error](err); is {
			wait = refused.RetryAfter
		}
		if err == nil || wait == 0 || try == tries || ctx.Err() != nil || time.Until(end) < wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

func (c Client) send(ctx context.Context, method, path string, body []byte, key string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("frontdesk: %w", err)
	}
	r.Header.Set("X-Api-Key", c.Key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if c.Language != "" {
		r.Header.Set("Accept-Language", c.Language)
	}
	if end, has := ctx.Deadline(); has { // a tenth is for the way: an answer has a reason, a passed deadline has none
		r.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(max(1, time.Until(end).Milliseconds()*9/10), 10))
	}
	// The gateway redirects nobody. A redirect would make a GET of a change, and take the key to another host.
	client := *cmp.Or(c.HTTP, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("frontdesk: %w", err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("frontdesk: %w", err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return errorOf(res, raw)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("frontdesk: the answer cannot be read: %w", err)
	}
	return nil
}

// errorOf reads a google.rpc.Status, or a problem (RFC 9457).
func errorOf(res *http.Response, raw []byte) error {
	var body struct {
		Message, Detail, Type string
		Errors                []struct{ Location, Message string }
		Details               []struct {
			Type            string `json:"@type"`
			Reason          string
			Message         string
			RetryDelay      string
			FieldViolations []struct{ Field, Description string }
			Value           struct {
				Nearest Slots `json:"nearest_slots"`
			}
		}
	}
	e := &Error{Status: res.StatusCode, Message: http.StatusText(res.StatusCode)}
	if elsewhere := res.Header.Get("Location"); elsewhere != "" {
		e.Message += ": " + elsewhere
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if json.Unmarshal(raw, &body) != nil {
		return e.withoutAnswer() // not the gateway's: a proxy's
	}
	if said := body.Message + body.Detail; said != "" {
		e.Message = said
	}
	e.Reason = body.Type[strings.LastIndexByte(body.Type, '/')+1:]
	for _, f := range body.Errors {
		e.Fields = append(e.Fields, f.Location+" "+f.Message)
	}
	for _, d := range body.Details {
		switch d.Type[strings.LastIndexByte(d.Type, '.')+1:] {
		case "ErrorInfo":
			e.Reason = d.Reason
		case "LocalizedMessage":
			e.Say = d.Message
		case "RetryInfo":
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
				e.RetryAfter = wait
			}
		case "Struct":
			e.Instead = d.Value.Nearest
		}
		for _, v := range d.FieldViolations {
			e.Fields = append(e.Fields, v.Field+" "+v.Description)
		}
	}
	return e.withoutAnswer()
}

// withoutAnswer has a call repeated if a proxy got no answer from the gateway (RFC 9110 sections 15.6.3 to 15.6.5). The
// gateway itself gives a reason.
func (e *Error) withoutAnswer() *Error {
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if e.Reason == "" && e.RetryAfter == 0 {
			e.RetryAfter = noAnswer
		}
	}
	return e
}
