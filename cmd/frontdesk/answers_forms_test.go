//go:build attack

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// form is one kind of response that harms its reader.
type form struct {
	name string
	body func() []byte
	send func(w http.ResponseWriter, r *http.Request, body []byte)
}

const (
	mebi      = 1 << 20
	listBytes = 6*mebi - 4096 // a little less than the gateway reads of a list of events
)

// hostileForms returns the forms of these bodies, and some responses that never end.
func hostileForms(bodies map[string]func() []byte) (forms []form) {
	for name, body := range bodies {
		forms = append(forms, bothWays(name, body)...)
	}
	first := func(n int) func() []byte {
		return func() []byte { return bodies["wide"]()[:n] }
	}
	forms = append(forms,
		form{"endless chunks", first(64 << 10), endlessly},
		form{"a slow drip", first(1 << 10), dripping},
		form{"a slow drip behind much", first(mebi), dripping},
		form{"a length that is not kept", first(1 << 10), promising},
		form{"compressed a thousandfold", func() []byte { return bomb() }, packed},
		form{"compressed to nonsense", func() []byte { return append(zipped(first(mebi)())[:1000], "nonsense"...) },
			packed},
		form{"compressed twice", func() []byte { return zipped(zipped(first(mebi)())) }, packed},
	)
	slices.SortFunc(forms, func(a, b form) int { return strings.Compare(a.name, b.name) })
	return forms
}

// bothWays returns a form plain and compressed. Most forms are compressed only at full size.
func bothWays(name string, body func() []byte) []form {
	forms := []form{{name, body, plainly}}
	if fullSize() || strings.Contains(name, "wide") {
		forms = append(forms, form{name + ", compressed", func() []byte { return zipped(body()) }, packed})
	}
	return forms
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}

func succeed(w http.ResponseWriter, r *http.Request) {
	kind, status := "application/json", http.StatusOK
	if r.Method == "PROPFIND" || r.Method == "REPORT" {
		kind, status = "application/xml; charset=utf-8", http.StatusMultiStatus
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
}

func plainly(w http.ResponseWriter, r *http.Request, body []byte) {
	succeed(w, r)
	_, _ = w.Write(body)
}

func packed(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	plainly(w, r, body)
}

func endlessly(w http.ResponseWriter, r *http.Request, body []byte) {
	succeed(w, r)
	for r.Context().Err() == nil {
		if _, err := w.Write(body); err != nil {
			return
		}
	}
}

func dripping(w http.ResponseWriter, r *http.Request, body []byte) {
	plainly(w, r, body)
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func promising(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Length", "1073741824")
	plainly(w, r, body)
}

// repeated returns a body of at most size bytes: a beginning, as many parts as fit, and an end.
func repeated(begin, part, end string, size int) func() []byte {
	return func() []byte {
		return []byte(begin + strings.Repeat(part, max(size-len(begin)-len(end), 0)/len(part)) + end)
	}
}

// numbered returns a body with count parts, each holding its number.
func numbered(begin, part, end string, count int) func() []byte {
	return func() []byte {
		b := []byte(begin)
		for i := range count {
			b = fmt.Appendf(b, part, i)
		}
		return append(b, end...)
	}
}

// jsonForms returns hostile JSON. The list under key is hostile; with the key "", the response is a list
// itself. Forms of a count are at the limit of what the gateway reads.
func jsonForms(key string) map[string]func() []byte {
	begin, end := `{"`+key+`":[`, `{}]}`
	if key == "" {
		begin, end = `[`, `{}]`
	}
	forms := map[string]func() []byte{
		"deep lists":                        repeated(begin, `[`, ``, mebi),
		"deep objects":                      repeated(begin, `{"a":`, ``, mebi),
		"deep and wide":                     repeated(begin, `[[[[[[[[]]]]]]]],`, end, mebi),
		"wide":                              repeated(begin, `{},`, end, mebi*3/2),
		"wide, with a name":                 repeated(begin, `{"id":"1"},`, end, mebi*3/2),
		"wide, at the edge":                 repeated(begin, `{},`, end, 3*19_000),
		"wide, at the edge of a listing":    repeated(begin, `{},`, end, 3*39_000),
		"members, at the edge of a listing": numbered(begin+`{"a":1`, `,"m%d":1`, `},`+end, 149_000),
		"lists, at the edge":                repeated(begin, `[],`, end, 3*19_000),
		"events, at the edge":               repeated(begin, `{"id":"1","start":{},"end":{}},`, end, 31*6_000),
		"numbers":                           repeated(begin, `1,`, end, mebi),
		"numbers, at the edge":              repeated(begin, `1,`, end, 2*139_000),
		"texts, at the edge":                repeated(begin, `"",`, end, 3*139_000),
		"nulls":                             repeated(begin, `null,`, end, mebi*3/2),
		"many members":                      numbered(begin+`{"a":1`, `,"m%d":1`, `},`+end, 100_000),
		"members, at the edge":              numbered(begin+`{"a":1`, `,"m%d":1`, `},`+end, 74_000),
		"duplicate members":                 repeated(begin+`{"a":1`, `,"id":"x"`, `},`+end, mebi),
		"a duplicate list":                  repeated(`{"a":1`, `,"`+key+`":[{},{}]`, `}`, mebi),
		"a long name":                       repeated(begin+`{"`, `n`, `":1},`+end, mebi),
		"long names":                        repeated(begin, `{"`+strings.Repeat("n", 1000)+`":1},`, end, mebi*3/2),
		"a huge number":                     repeated(begin+`1`, `0`, `,`+end, mebi),
		"a huge exponent": repeated(begin, `{"id":1e999999999,"number":-1E+99999},`,
			end, 19_000*38),
		"a long text":     repeated(begin+`{"id":"`, `t`, `"},`+end, mebi*3/2),
		"escapes":         repeated(begin+`{"id":"`, `\u0000`, `"},`+end, mebi*3/2),
		"bad UTF-8":       repeated(begin+`{"id":"`, "\xff", `"},`+end, mebi*2-100),
		"lone surrogates": repeated(begin+`{"id":"`, `\ud800`, `"},`+end, mebi*2-100),
		"blanks":          repeated(begin, ` `, end, 3*mebi),
		"entities":        repeated(begin+`"`, `&amp;&lol9;`, `",`+end, mebi),
		"many documents":  repeated(``, begin+end+"\n", ``, mebi),
	}
	return forms
}

const (
	davBegin = `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">`
	davEnd   = `</d:multistatus>`
)

// xmlForms returns hostile multistatus responses.
func xmlForms() map[string]func() []byte {
	in := func(part string, size int) func() []byte { return repeated(davBegin, part, davEnd, size) }
	edge := func(part string, elements int) func() []byte {
		return in(part, len(davBegin)+len(davEnd)+len(part)*elements)
	}
	one := davBegin + `<d:response><d:href>/x</d:href><d:propstat><d:prop>`
	oneEnd := `</d:prop></d:propstat></d:response>` + davEnd
	return map[string]func() []byte{
		"deep":                   repeated(davBegin, `<a>`, ``, mebi),
		"deep responses":         repeated(davBegin, `<d:response>`, ``, mebi),
		"wide":                   in(`<a/>`, listBytes),
		"wide responses":         in(`<d:response/>`, listBytes),
		"responses, at the edge": edge(`<d:response/>`, 39_000),
		"propstats, at the edge": repeated(davBegin+`<d:response>`, `<d:propstat/>`,
			`</d:response>`+davEnd, 13*39_000),
		"properties, at the edge": repeated(one, `<d:owner><d:href/></d:owner>`, oneEnd, 28*19_000),
		"privileges, at the edge": repeated(one+`<d:current-user-privilege-set>`,
			`<d:privilege><d:a/></d:privilege>`, `</d:current-user-privilege-set>`+oneEnd, 34*19_000),
		"types, at the edge": repeated(one+`<d:resourcetype>`, `<d:a/>`,
			`</d:resourcetype>`+oneEnd, 6*39_000),
		"many attributes":         repeated(davBegin+`<a`, ` a=""`, `/>`+davEnd, mebi),
		"attributes, at the edge": edge(`<a`+strings.Repeat(` a=""`, 63)+`/>`, 19_000),
		"namespaces":              repeated(davBegin, `<x:a xmlns:x="y"/>`, davEnd, mebi),
		"nested namespaces": repeated(davBegin,
			strings.Repeat(`<x:a xmlns:x="y">`, 50)+strings.Repeat(`</x:a>`, 50), davEnd, mebi),
		"a long name":      repeated(davBegin+`<`, `n`, `/>`+davEnd, mebi),
		"a long attribute": repeated(davBegin+`<a `, `n`, `=""/>`+davEnd, mebi),
		"a long value":     repeated(davBegin+`<a b="`, `v`, `"/>`+davEnd, mebi),
		"a long end":       repeated(davBegin+`<a></`, `n`, `>`+davEnd, mebi),
		"an entity of its own": repeated(`<!DOCTYPE x [<!ENTITY lol "lol">]><d:multistatus xmlns:d="DAV:">`,
			`&lol;`, davEnd, mebi),
		"a billion laughs": numbered(`<!DOCTYPE x [<!ENTITY l0 "lol">`, `<!ENTITY m%d "&l0;&l0;&l0;&l0;">`,
			`]><d:multistatus xmlns:d="DAV:">&m9;</d:multistatus>`, 1000),
		"elements behind a doctype": repeated(`<!DOCTYPE x><d:multistatus xmlns:d="DAV:">`, `<d:response/>`,
			davEnd, listBytes),
		"elements within a page": repeated(`<html>`, `<d:response/>`, `</html>`, listBytes),
		"elements behind text": repeated(`x<d:multistatus xmlns:d="DAV:">`, `<d:response/>`,
			davEnd, listBytes),
		"elements behind JSON": repeated(`{"a":"`+davBegin, `<d:response/>`, davEnd+`"}`, listBytes),
		"references": repeated(one+`<c:calendar-data>`, `&#13;`,
			`</c:calendar-data>`+oneEnd, listBytes),
		"a remark":                repeated(davBegin+`<!--`, ` <a>`, `-->`+davEnd, listBytes),
		"remarks":                 in(`<!-- -->`, listBytes),
		"a hidden remark":         in("<!-\x01-><d:response/><!-\x01->", listBytes),
		"unparsed text":           repeated(davBegin+`<![CDATA[`, `<d:response/>`, `]]>`+davEnd, listBytes),
		"pieces of unparsed text": in(`<![CDATA[]]>`, listBytes),
		"instructions":            in(`<?a b?>`, listBytes),
		"bad UTF-8":               repeated(one+`<d:displayname>`, "\xff", `</d:displayname>`+oneEnd, listBytes),
		"duplicate properties":    repeated(one, `<d:getetag>"x"</d:getetag>`, oneEnd, 26*39_000),
		"a huge status": repeated(davBegin+`<d:response><d:status>HTTP/1.1 `, `9`,
			`</d:status></d:response>`+davEnd, listBytes),
	}
}

// icalForms returns multistatus responses with hostile calendar objects.
func icalForms() map[string]func() []byte {
	const before = davBegin +
		`<d:response><d:href>/dav/pat@example.com/main/x.ics</d:href><d:propstat><d:prop><d:getetag>"1"</d:getetag>` +
		"<c:calendar-data>"
	const after = `</c:calendar-data></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>` +
		davEnd
	const event = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\nDTSTART:20270302T100000Z\n" +
		"DTEND:20270302T103000Z\n"
	const done = "END:VEVENT\nEND:VCALENDAR\n"
	in := func(part string, size int) func() []byte { return repeated(before+event, part, done+after, size) }
	object := `<d:response><d:href>/dav/pat@example.com/main/%d.ics</d:href><d:propstat><d:prop><d:getetag>"1"</d:getetag>` +
		"<c:calendar-data>" + event
	objectEnd := done +
		`</c:calendar-data></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`
	return map[string]func() []byte{
		"empty lines":                   in("\n", listBytes),
		"lines of nothing":              in(":\n", listBytes),
		"lines of nothing, at the edge": in(":\n", 2*148_000),
		"properties, at the edge":       in("A;B=C:D\n", 8*148_000),
		"folded lines":                  in("\n X", listBytes),
		"a long line":                   in("X", listBytes),
		"a long name":                   repeated(before+event, "N", ":x\n"+done+after, listBytes),
		"many parameters":               repeated(before+event+"X", ";A=B", ":x\n"+done+after, listBytes),
		"many values":                   repeated(before+event+"X;A=B", ",B", ":x\n"+done+after, listBytes),
		"deep components":               in("BEGIN:X\n", mebi),
		"wide components":               in("BEGIN:X\nEND:X\n", mebi),
		"components, at the edge":       in("BEGIN:X\nEND:X\n", 14*74_000),
		"zones":                         in("BEGIN:VTIMEZONE\nTZID:X\nEND:VTIMEZONE\n", mebi),
		"exceptions":                    in("EXDATE:20270302T100000Z\n", 24*100_000),
		"dates in one line": numbered(before+event+"RDATE:20270302T100000Z", ",2027%04dT100000Z",
			"\n"+done+after, 300_000),
		"dates at the edge": numbered(before+event+"RDATE:20270302T100000Z", ",20270302T%06dZ",
			"\n"+done+after, 39_000),
		"parameters at the edge": repeated(before+event+"X", ";A=B", ":x\n"+done+after, 4*39_000),
		"a rule without an end":  in("RRULE:FREQ=SECONDLY\n", 3_000),
		"rules":                  in("RRULE:FREQ=SECONDLY;BYSECOND=1,2,3\n", mebi),
		"a huge number": repeated(before+event+"RRULE:FREQ=DAILY;COUNT=9", "9",
			"\n"+done+after, listBytes),
		"a huge duration":           repeated(before+event+"DURATION:P9", "9", "D\n"+done+after, listBytes),
		"escapes":                   repeated(before+event+"SUMMARY:", `\n`, "\n"+done+after, listBytes),
		"bad UTF-8":                 repeated(before+event+"SUMMARY:", "\xff", "\n"+done+after, listBytes),
		"duplicate properties":      in("UID:1\n", mebi*3/4),
		"many objects":              numbered(davBegin, object+objectEnd, davEnd, 5_000),
		"lines ended by references": in(":&#10;", listBytes),
		"lines ended by returns":    in(":\r", listBytes),
	}
}
