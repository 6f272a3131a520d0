package api

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/language"
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
	if got := (voice{}).say("{System} and {system}", adapter.KindTelephony,
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

// sentences returns all English sentences.
func sentences() []string {
	all := []string{spokenUnknowable, spokenFinal}
	for _, s := range problemTypes() {
		all = append(all, s.Spoken, s.Final)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// Every language has every sentence, every time to wait and every system, no more and no less, and the
// placeholders of a translation can be filled.
func TestEverySentenceIsTranslated(t *testing.T) {
	phrases := []string{longWait}
	for _, w := range waits {
		phrases = append(phrases, w.phrase)
	}
	names := []string{anySystem}
	for _, name := range systems {
		names = append(names, name)
	}
	all, err := voices()
	if err != nil || len(all) != len(language.All())-1 {
		t.Fatalf("%d voices, %v", len(all), err)
	}
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	for name, v := range all {
		for what, c := range map[string]struct {
			want []string
			got  []string
		}{
			"sentences": {sentences(), slices.Collect(maps.Keys(v.Sentences))},
			"waits":     {phrases, slices.Collect(maps.Keys(v.Waits))},
			"systems":   {names, slices.Collect(maps.Keys(v.Systems))},
		} {
			slices.Sort(c.want)
			slices.Sort(c.got)
			if !slices.Equal(c.want, c.got) {
				t.Errorf("%s: the %s are %q, not %q", name, what, c.got, c.want)
			}
		}
		for english, said := range v.Sentences {
			if said == english || said == "" {
				t.Errorf("%s: %q is said as %q", name, english, said)
			}
			if waits := strings.Contains(english, "{wait}"); waits != strings.Contains(said, "{wait}") {
				t.Errorf("%s: %q is said as %q", name, english, said)
			}
			if named := placeholder.FindString(strings.ReplaceAll(english, "{wait}", "")) != ""; named !=
				(placeholder.FindString(strings.ReplaceAll(said, "{wait}", "")) != "") {
				t.Errorf("%s: %q is said as %q", name, english, said)
			}
			for _, kind := range []adapter.Kind{adapter.KindCalendar, adapter.KindCRM, adapter.KindTelephony, ""} {
				filled := v.say(english, kind, time.Minute)
				if strings.ContainsAny(filled, "{}") || strings.Contains(filled, "  ") {
					t.Errorf("%s: said %q", name, filled)
				}
			}
		}
	}
}

func TestErrorsAreSaidInTheLanguageOfTheCaller(t *testing.T) {
	g := startGateway(t)
	g.err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "d")
	for accept, want := range map[string][2]string{
		"": {"en-US",
			"The ticket system does not answer right now. Can we try again in a moment?"},
		"ja": {"en-US",
			"The ticket system does not answer right now. Can we try again in a moment?"},
		"es-MX, en;q=0.5": {"es",
			"El sistema de tickets no responde ahora mismo. ¿Podemos volver a intentarlo en un momento?"},
		"de-AT": {"de",
			"Das Ticketsystem antwortet gerade nicht. Können wir es gleich noch einmal versuchen?"},
		"pt;q=0.9, fr;q=0.8": {"fr",
			"Le système de tickets ne répond pas pour le moment. Pouvons-nous réessayer dans un instant\u202f?"},
		strings.Repeat("x", 9): {"en-US",
			"The ticket system does not answer right now. Can we try again in a moment?"},
	} {
		a := g.post(createPath, `{"subject":"s"}`, "Accept-Language", accept)
		localized := a.v1().detail("LocalizedMessage")
		if localized["locale"] != want[0] || localized["message"] != want[1] {
			t.Errorf("%q: said %v", accept, localized)
		}
	}
}
