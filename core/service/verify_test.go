package service

import (
	"context"
	"maps"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/record"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		on   func(*world, *apikey.Caller)
		want record.VerifyAnswer
		code fault.Code // of the error
	}{
		"accepted": {want: record.VerifyAnswer{OK: true, Email: "office@example.com"}},
		"accepted, and the provider tells no address": {
			on:   func(w *world, _ *apikey.Caller) { w.meetings.email = "" },
			want: record.VerifyAnswer{OK: true, Email: "office@example.com"},
		},
		"refused": {
			on: func(w *world, _ *apikey.Caller) {
				w.meetings.times(9, "account", reaction{before: fails(refusesCredentials())})
			},
			want: record.VerifyAnswer{Email: "office@example.com"},
		},
		"nothing is connected": {
			on: func(_ *world, c *apikey.Caller) {
				c.Connections = maps.Clone(c.Connections)
				delete(c.Connections, adapter.KindCalendar)
			},
		},
		"the provider is down": {
			on:   func(w *world, _ *apikey.Caller) { w.meetings.times(9, "account", reaction{before: fails(down())}) },
			code: fault.Unavailable,
		},
		"the account may not": {
			on: func(w *world, _ *apikey.Caller) {
				w.meetings.times(9, "account",
					reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "No."))})
			},
			code: fault.Forbidden,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			if test.on != nil {
				test.on(w, &c)
			}
			got, err := p.Calendar.Verify(background, c)
			if test.code != "" {
				if f := faultOf(t, err); f.Code != test.code {
					t.Fatalf("got %v", f)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestVerifyMakesAReconnectedAccountUsableAgain(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.status[c.Connections[adapter.KindCalendar].ID] = connection.StatusReconnectRequired
	_, err := p.Calendar.Calendars(background, c)
	wantReason(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
	if answer, err := p.Calendar.Verify(background, c); err != nil || !answer.OK {
		t.Fatalf("got %+v, %v", answer, err)
	}
	if _, err := p.Calendar.Calendars(background, c); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedCredentialsAreConfirmedBeforeTheConnectionIsMarked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		confirmed func(context.Context) error
		marked    int
	}{
		"refused again":                   {fails(refusesCredentials()), 1},
		"accepted when asked again":       {nil, 0},
		"the provider is down when asked": {fails(down()), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.script(func(_ *process, call string) reaction {
				if call == "account" {
					return reaction{before: test.confirmed}
				}
				return reaction{before: fails(refusesCredentials())}
			})
			_, err := p.Calendar.Calendars(background, c)
			wantReason(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
			if got := w.marked[c.Connections[adapter.KindCalendar].ID]; got != test.marked {
				t.Errorf("marked %d times, want %d", got, test.marked)
			}
			if test.marked == 1 {
				asked := w.meetings.called("calendars")
				_, err = p.Calendar.Calendars(background, c)
				wantReason(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
				if w.meetings.called("calendars") != asked {
					t.Error("the next caller asks the provider again")
				}
			}
		})
	}
}

// A provider may refuse the parts of a batch for a token that has ended meanwhile. What renews tokens sees only the
// status of the whole.
func TestAReadIsMadeAgainIfTheCredentialsAreAcceptedAfterAll(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.once("calendars", reaction{before: fails(refusesCredentials())})
	if _, err := p.Calendar.Calendars(background, c); err != nil {
		t.Fatal(err)
	}
	if asked, marked := w.meetings.called("calendars"), w.marked[c.Connections[adapter.KindCalendar].ID]; asked != 2 ||
		marked != 0 {
		t.Errorf("asked %d times, marked %d times", asked, marked)
	}
}

func TestAWriteIsNotMadeAgainWhereTheCredentialsWereRefused(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.once("book", reaction{before: fails(refusesCredentials())})
	_, err := p.Calendar.Book(background, c, Write{}, meeting(t, "checkup", 10))
	wantReason(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
	if asked := w.meetings.called("book"); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
