package rest

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func TestALeavingCallerEndsAnExpression(t *testing.T) {
	t.Parallel()
	// A single step takes so long that the deadline passes before anything else ends the expression. It
	// compares two texts that differ at their ends.
	long := strings.Repeat("x", 16<<20)
	e, problem := newParser(nil).parse("place", "[range(20000) as $i | select(.a == .b)]")
	if problem != "" {
		t.Fatal(problem)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.value(ctx, map[string]any{
		"a": long + "a", "b": long + "b",
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestExpressionsReachNothingButTheirInput(t *testing.T) {
	t.Setenv("FRONTDESK_CANARY", "canary")
	for _, source := range []string{
		"env", "$ENV", "$ENV.FRONTDESK_CANARY", "env.FRONTDESK_CANARY", "input", "inputs", "input_filename",
		"input_line_number", "$__prog_args",
		`include "m"; 1`, `import "m" as m; 1`, `import "/etc/passwd" as $p; $p`, "get_search_list",
		`"m" | modulemeta`, "debug", "stderr", "halt", "halt_error", `"x" | error`,
	} {
		e, problem := newParser(nil).parse("place", source)
		if problem != "" {
			continue
		}
		v, err := e.value(t.Context(), map[string]any{})
		if empty, isObject := v.(map[string]any); err == nil && v != nil && (!isObject || len(empty) > 0) {
			t.Errorf("%s gives %v", source, v)
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	input := map[string]any{"n": "a/b c", "x": 7, "none": nil, "o": map[string]any{"k": "}"}}
	for source, want := range map[string][2]string{
		"":                             {"", ""},
		"a/b":                          {"a/b", "a/b"},
		"a/{.n}.json":                  {"a/a%2Fb%20c.json", "a/a/b c.json"},
		"{.x}{.x}":                     {"77", "77"},
		"{{.x}}":                       {"{.x}", "{.x}"},
		`{.o | {k: .k} | .k + "}\""}/`: {"%7D%7D%22/", `}}"/`},
	} {
		tpl, problem := newParser(nil).template("place", source)
		if problem != "" {
			t.Errorf("%s: %s", source, problem)
			continue
		}
		path, err := tpl.path(t.Context(), input)
		text, present, textErr := tpl.text(t.Context(), input)
		if err != nil || textErr != nil || !present || path != want[0] || text != want[1] {
			t.Errorf("%s is the path %q and the text %q, %v %v", source, path, text, err, textErr)
		}
	}
	absent, _ := newParser(nil).template("place", "{.none}")
	if _, present, err := absent.text(t.Context(), input); present || err != nil {
		t.Errorf("a single expression of null is there: %v", err)
	}
	if _, err := absent.path(t.Context(), input); err == nil {
		t.Error("null is a part of a path")
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text, layout string
		zone         *time.Location
		want         time.Time
		wrong        bool
	}{
		{text: "2026-05-01T12:00:00Z", want: noon},
		{text: "2026-05-01T14:00:00+02:00", want: noon},
		{text: "2026-05-01T12:00:00.000+0000", want: noon},
		{text: "2026-05-01T12:00:00.25Z", want: noon.Add(250 * time.Millisecond)},
		{text: "2026-05-01 12:00:00", want: noon},
		{text: "2026-05-01 14:00:00", zone: berlin, want: noon},
		{text: "2026-05-01T14:00:00", zone: berlin, want: noon},
		{text: "2026-05-01 14:00:00 +0200", want: noon},
		{text: "2026-05-01", want: noon.Add(-12 * time.Hour)},
		{text: "1777636800", want: noon},
		{text: "1777636800.5", want: noon.Add(500 * time.Millisecond)},
		{text: "1777636800250", want: noon.Add(250 * time.Millisecond)},
		{text: "01.05.2026 14:00", layout: "02.01.2006 15:04", zone: berlin, want: noon},
		{text: "20260501", layout: "20060102", want: noon.Add(-12 * time.Hour)},
		{text: ""}, {text: "1970-01-01T00:00:00Z"}, {text: "0"}, {text: "0001-01-01T00:00:00Z"},
		{text: "0000-00-00 00:00:00"}, {text: "-1"},
		{text: "soon", wrong: true}, {text: "1e300", wrong: true}, {text: "NaN", wrong: true},
		{text: "2026-05-01T12:00:00Z", layout: "2006", wrong: true},
	} {
		zone := c.zone
		if zone == nil {
			zone = time.UTC
		}
		if got, ok := readTime(c.text, c.layout, zone); ok == c.wrong || got != c.want {
			t.Errorf("%q is %s, %v; want %s", c.text, got, ok, c.want)
		}
	}
}

func TestSingleValuesAsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, want string
	}{
		{"null", ""}, {`"a"`, "a"}, {"7", "7"}, {"1e3", "1000"}, {"12345678901234567890", "12345678901234567890"},
		{"123456789012 + 1", "123456789013"},
		{"1.5", "1.5"}, {"true", "true"}, {"empty", ""},
	} {
		e, problem := newParser(nil).parse("place", c.source)
		if got, err := e.text(t.Context(), nil); problem != "" || err != nil || got != c.want {
			t.Errorf("%s is %q, %v; want %q", c.source, got, err, c.want)
		}
	}
}

// FuzzTemplate checks that no template gives a path that leaves its place, whatever the template and its
// values are.
func FuzzTemplate(f *testing.F) {
	f.Add("tickets/{.v}", "7")
	f.Add("a/{.v}/b{.v}", "../..")
	f.Add(`{"}" + .v}`, "%2e")
	f.Fuzz(func(t *testing.T, source, value string) {
		tpl, problem := newParser(nil).template("place", source)
		if problem != "" {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		path, err := tpl.path(ctx, map[string]any{"v": value})
		if err == nil && strings.Count(path, "/") != strings.Count(tpl.words(), "/") {
			t.Errorf("%q with %q is %q", source, value, path)
		}
	})
}

// FuzzAnswers checks that every response gives a ticket or a fault, and that a fault holds only plain names
// from the response.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		`{"id":7,"made":"2026-05-01","state":1,"text":{"text":"x","html":true}}`, `[]`, `{"id":[]}`, `<html>`, "",
		`{"id":1e999}`, `{"id":7}{}`, `{"missing":["Floor","<b>",["x"],"a\nb"]}`,
	} {
		f.Add([]byte(body), "application/json")
		f.Add([]byte(body), "text/plain")
	}
	c := compile(settings{
		BaseURL: "https://desk.example", NumberPattern: ".*", TimeZone: "UTC",
		Vocabulary: vocabularySettings{Statuses: `[{label: "Open", value: 1}]`},
		Ticket: ticketSettings{ID: ".steps.t.body.id", Number: ".steps.t.body.id",
			StatusValue: ".steps.t.body.state", CreatedAt: ".steps.t.body.made",
			Description: ".steps.t.body.text", Subject: ".steps.t.headers[\"content-type\"]"},
	}, nil)
	d, missing := &driver{compiled: c, now: time.Now}, rule{names: c.expression("faults[0].names", ".body.missing")}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		got := answer{status: 200, raw: body, header: http.Header{"Content-Type": {kind}}}
		got.read(false)
		for _, name := range missing.plainNames(t.Context(), got) {
			if len(name) > maxNameLength ||
				strings.ContainsFunc(name, func(c rune) bool {
					return c != ' ' && !unicode.IsPrint(c) || strings.ContainsRune("<>&\"'@:", c)
				}) {
				t.Errorf("told the name %q", name)
			}
		}
		r := d.begin(map[string]any{})
		r.done["t"] = got.value()
		ticket, err := d.ticket.ticket(t.Context(), r)
		if err == nil && (ticket.ID == "" || ticket.Number == "") {
			t.Errorf("a ticket without id or number: %+v", ticket)
		}
		if err != nil && (fault.From(err).Code == fault.Internal || !reflect.DeepEqual(ticket, crm.Ticket{})) {
			t.Errorf("%+v, %v", ticket, err)
		}
	})
}

func TestTheMarkOfATicketIsRemoved(t *testing.T) {
	for text, want := range map[string]string{
		"A pipe.\n\nFrontdesk: k1\n":                         "A pipe.",
		"Frontdesk: k1":                                      "",
		"A pipe.\n\nFrontdesk: k1\r\nIt leaks.":              "A pipe.\r\nIt leaks.",
		"A pipe.<br><br/>Frontdesk: k1<br>It leaks.":         "A pipe.<br>It leaks.",
		"<p>A pipe.</p><p>Frontdesk: k1</p><p>It leaks.</p>": "<p>A pipe.</p><p>It leaks.</p>",
		"<div>A pipe.<br />Frontdesk: k1 </div>":             "<div>A pipe.",
		"Frontdesk: open since noon":                         "Frontdesk: open since noon",
		"MyFrontdesk: k1":                                    "MyFrontdesk: k1",
	} {
		if got := unmark(text, nil); got != want {
			t.Errorf("of %q, %q is left, want %q", text, got, want)
		}
	}
}
