package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// offers matches an offer to try the same again.
var offers = regexp.MustCompile(
	`(?i)\btry (again|once more|that again)|\blook (at it )?again|\bmoment\b|\bminute|\bhour|\btomorrow`)

// faultOfRow returns a fault that has the given problem type.
func faultOfRow(s problemType) *fault.Error {
	f := fault.New(fault.Unavailable, s.Reason, "The cause.")
	switch {
	case s.Only != "":
		f.Code = s.Only
	case s.Reason == fault.ReasonOutcomeUnknown, s.Reason == fault.ReasonOrderPending:
		f.Code = fault.UnknownOutcome
	}
	return f
}

// TestARepeatIsSuggestedEverywhereOrNowhere tests each problem type on both surfaces, with and without the
// fault's NoRetry.
func TestARepeatIsSuggestedEverywhereOrNowhere(t *testing.T) {
	g := startGateway(t)
	for _, s := range problemTypes() {
		for _, test := range []struct {
			rule    string
			noRetry bool
			outcome string
		}{
			{"as it is", false, ""}, {"with an unknown outcome", false, "unknown"}, {"not to be repeated", true, ""},
			{"not to be repeated, of an unknown outcome", true, "unknown"},
		} {
			f := faultOfRow(s)
			if test.outcome != "" {
				f = f.With("outcome", test.outcome)
			}
			f.RetryAfter, f.NoRetry = 7*time.Second, test.noRetry
			want := s.repeats() && !test.noRetry
			g.err = f
			a := g.post(createPath, `{"subject":"s"}`)
			e := a.v1()
			message, _ := e.detail("LocalizedMessage")["message"].(string)
			if suggested := e.detail("RetryInfo") != nil; suggested != want ||
				(a.header.Get("Retry-After") != "") != want {
				t.Errorf("%s, %s: RetryInfo %v, Retry-After %q, want %v", s.Reason, test.rule, e.detail("RetryInfo"),
					a.header.Get("Retry-After"), want)
			}
			if !want && offers.MatchString(message) {
				t.Errorf("%s, %s: a second try is offered: %q", s.Reason, test.rule, message)
			}
			if message == "" || strings.ContainsAny(message, "{}") {
				t.Errorf("%s, %s: what is said has gaps: %q", s.Reason, test.rule, message)
			}
			if b := g.send(http.MethodGet, numbersPath, ""); (b.header.Get("Retry-After") != "") != want {
				t.Errorf("%s, %s, on beta: Retry-After %q, want %v", s.Reason, test.rule,
					b.header.Get("Retry-After"), want)
			}
		}
	}
}

func TestAnOutcomeThatNothingWillTellNeedsAPerson(t *testing.T) {
	g := startGateway(t)
	g.err = fault.Unknowable("Two tickets fit.")
	e := g.post(createPath, `{"subject":"s"}`).v1()
	if e.detail("Help") == nil || e.detail("RetryInfo") != nil || e.reason() != "OUTCOME_UNKNOWN" {
		t.Errorf("answered %+v", e)
	}
	if message := e.detail("LocalizedMessage")["message"]; message != spokenUnknowable {
		t.Errorf("said %q", message)
	}
}

func TestWhatIsSaidFitsTheTimeToWait(t *testing.T) {
	g := startGateway(t)
	for wait, want := range map[time.Duration]string{
		time.Second: "in a moment", time.Minute: "in a minute", 5 * time.Minute: "in a few minutes",
		30 * time.Minute: "in half an hour", time.Hour: "in an hour", 5 * time.Hour: "in a few hours",
		20 * time.Hour: "tomorrow",
	} {
		g.err = &fault.Error{
			Code: fault.RateLimited, Reason: fault.ReasonProviderRateLimited, Detail: "d", RetryAfter: wait,
		}
		message := g.post(createPath, `{"subject":"s"}`).v1().detail("LocalizedMessage")["message"]
		if message != "The ticket system is busy. Can we try again "+want+"?" {
			t.Errorf("%v: said %q", wait, message)
		}
	}
}

func TestASystemIsCalledWhatItIs(t *testing.T) {
	g := startGateway(t)
	g.err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "d")
	for path, want := range map[string]string{calendarsPath: "The calendar", createPath: "The ticket system"} {
		message, _ := g.post(path, `{"subject":"s"}`).v1().detail("LocalizedMessage")["message"].(string)
		if path == calendarsPath {
			message, _ = g.post(path, "").v1().detail("LocalizedMessage")["message"].(string)
		}
		if !strings.HasPrefix(message, want+" ") {
			t.Errorf("%s: said %q", path, message)
		}
	}
	if got := sayable("{System} and {system}", adapter.KindTelephony,
		0); got != "The phone system and the phone system" {
		t.Errorf("of phone numbers: %q", got)
	}
	for _, s := range problemTypes() {
		for _, sentence := range []string{s.Spoken, s.Final} {
			if strings.Contains(sentence, "booking system") {
				t.Errorf("%s calls every provider a booking system: %q", s.Reason, sentence)
			}
		}
	}
}
