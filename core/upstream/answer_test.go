package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
)

func zipped(t testing.TB, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// excessive are responses that each have too much of one thing.
var excessive = map[string]string{
	"deep JSON":            strings.Repeat(`[`, maxDepth+1),
	"a long list":          `[1` + strings.Repeat(`,1`, maxItems+1) + `]`,
	"many objects":         `[{"a":{}}` + strings.Repeat(`,{"a":{}}`, maxItems/2) + `]`,
	"many lists":           `[[]` + strings.Repeat(`,[]`, maxItems) + `]`,
	"many members":         `{"a":1` + strings.Repeat(`,"a":1`, maxValues/2+1) + `}`,
	"a long name":          `{"` + strings.Repeat(`n`, maxNameBytes+1) + `":1}`,
	"a long number":        `[1` + strings.Repeat(`0`, maxDigits) + `]`,
	"deep XML":             strings.Repeat(`<a>`, maxDepth+1),
	"many elements":        `<a>` + strings.Repeat(`<b/>`, maxElements) + `</a>`,
	"many attributes":      `<a` + strings.Repeat(` b=""`, maxAttributes+1) + `/>`,
	"a long element":       `<` + strings.Repeat(`n`, maxNameBytes+1) + `/>`,
	"a long end":           `<a></` + strings.Repeat(`n`, maxNameBytes+1) + `>`,
	"many lines in XML":    `<a>` + strings.Repeat("\n", maxLines+1) + `</a>`,
	"many references":      `<a>` + strings.Repeat("&#10;", maxLines+1) + `</a>`,
	"many lines":           strings.Repeat("A:B\r\n", maxLines+1),
	"behind a mark":        byteOrderMark + " \x00<a>" + strings.Repeat(`<b/>`, maxElements) + `</a>`,
	"elements amid CDATA":  `<a><![CDATA[<]]>` + strings.Repeat(`<b/>`, maxElements) + `</a>`,
	"elements amid a note": `<a><!-- <?x -->` + strings.Repeat(`<b/>`, maxElements) + `</a>`,
	"bytes":                strings.Repeat(` `, maxAnswerBytes+1),
}

// fitting are similar responses within the bounds.
var fitting = map[string]string{
	"deep JSON":        strings.Repeat(`[`, maxDepth) + strings.Repeat(`]`, maxDepth),
	"brackets in text": `["` + strings.Repeat(`[{,:\"`, 100_000) + `"]`,
	"a list":           `[1` + strings.Repeat(`,1`, maxItems-1) + `]`,
	"tags in CDATA":    `<a><![CDATA[` + strings.Repeat(`<b/>`, maxElements+1) + `]]></a>`,
	"tags in a note":   `<a><!--` + strings.Repeat(`<b/>`, maxElements+1) + `--></a>`,
	"a page":           `<!DOCTYPE html><html>` + strings.Repeat(`<br>`, 1000) + `</html>`,
	"a page, at once":  `<html>` + strings.Repeat(`<br>`, 1000) + `</html>`,
	"lines":            strings.Repeat("A:B\r\n", maxLines-10),
}

// answering starts a server that responds by the path: excessive or fitting, plain or compressed, with the
// status of the query.
func answering(t *testing.T) (get func(method, path string) ([]byte, int, error)) {
	var packed sync.Map // compressed bodies
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		body := []byte(map[string]map[string]string{"excessive": excessive, "fitting": fitting}[parts[2]][parts[3]])
		if parts[1] == "zipped" {
			w.Header().Set("Content-Encoding", "gzip")
			small, there := packed.Load(parts[3])
			if !there {
				small, _ = packed.LoadOrStore(parts[3], zipped(t, string(body)))
			}
			body = small.([]byte)
		}
		if parts[4] != "200" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write(body)
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	return func(method, path string) ([]byte, int, error) {
		status, _, body, err := Do(client, request(t, method, server.JoinPath(path).String(), ""))
		return body, status, err
	}
}

// No part of a response beyond the bounds is decoded, and the fault names the excess. An error response
// remains one.
func TestAnAnswerIsReadWithinBounds(t *testing.T) {
	get := answering(t)
	for name := range excessive {
		for _, way := range []string{"plain", "zipped"} {
			t.Run(name+", "+way, func(t *testing.T) {
				path := way + "/excessive/" + name
				_, _, err := get(http.MethodGet, path+"/200")
				wantFault(t, err, fault.Exhausted, ReasonAnswerTooLarge, false)
				_, _, err = get(http.MethodPost, path+"/200")
				wantFault(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown, false)
				body, status, err := get(http.MethodPost, path+"/401")
				if err != nil || status != http.StatusUnauthorized || len(body) > maxRefusalBytes {
					t.Errorf("a refusal is read as %d, %d bytes, %v", status, len(body), err)
				}
			})
		}
	}
	for name, want := range fitting {
		t.Run(name+" fits", func(t *testing.T) {
			if body, _, err := get(http.MethodGet, "plain/fitting/"+name+"/200"); err != nil || string(body) != want {
				t.Errorf("%d bytes of %d, %v", len(body), len(want), err)
			}
		})
	}
}

// FuzzShape checks that everything a decoder builds from a response was counted before, so that no response
// can evade the bounds by its form.
func FuzzShape(f *testing.F) {
	for _, body := range []string{`{"a":[1,{"b":null}],"c":"\"["}`, `[[],{},[{}],"]",1e9]`,
		`<a b="<" c='/>'><b/>&lt;<!-- <c> --><![CDATA[<d>]]></a>`,
		`<?x ?>?><a><?y <b>?><b/></a>`, "<a><!-\x00- --><b/></a>", "<!-\ufffe-><a/>",
		byteOrderMark + `<a x:y="1"/>`, `<a><b></b ></a >`,
		`<!DOCTYPE a><a><b/></a>`, `<HTML><b/></HTML>`, `{<a><b/></a>`, `x<a><b/></a>`, `<a><!--> <b/> --><c/></a>`,
		`<a><![CDATA[]]]><b/>]]><c/></a>`,
		"<a\tb\n=\r\"x\"/>", `<a b=">" c="'"/>`, `<a/ ><b/>`, "\xef<a/>", `<?><a/>`, "<\x01a/>",
		"A:B\r\nC\n\rD\r\r\n"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		within := bounds{1 << 20, 1 << 20, 1 << 20}
		s, whole := shape{within: within}, shape{within: within}
		for i := range body { // byte by byte
			if s.scan(body[i:i+1]) != nil {
				return
			}
		}
		if whole.scan(body) != nil || whole.items != s.items || whole.elements != s.elements ||
			whole.values != s.values || whole.lines != s.lines {
			t.Fatalf("in one %+v, byte by byte %+v", whole, s)
		}
		var value any
		if json.Unmarshal(body, &value) == nil {
			if items, values := contents(value); items > s.items || values > s.values+1 {
				t.Fatalf("%d items and %d values, counted %+v", items, values, s)
			}
		}
		tree, depth := &counted{}, 0
		if UnmarshalXML(t.Context(), body, tree) == nil {
			if elements, attributes := tree.sum(&depth, 1); elements > s.elements || attributes > s.attributes ||
				depth > maxDepth {
				t.Fatalf("%d elements, %d attributes, %d deep, counted %+v", elements, attributes, depth, s)
			}
		}
	})
}

// contents counts the items and values of a decoded value.
func contents(v any) (items, values int) {
	count := func(child any) {
		i, n := contents(child)
		items, values = items+i, values+n
	}
	switch v := v.(type) {
	case map[string]any:
		items++
		values += len(v)
		for _, child := range v {
			count(child)
		}
	case []any:
		items += len(v)
		values += len(v)
		for _, child := range v {
			if _, scalar := child.(map[string]any); !scalar {
				count(child)
			}
		}
	}
	return items, values
}

// counted is any element.
type counted struct {
	Attributes []xml.Attr `xml:",any,attr"`
	Children   []*counted `xml:",any"`
}

func (c *counted) sum(deepest *int, depth int) (elements, attributes int) {
	*deepest = max(*deepest, depth)
	elements, attributes = 1, len(c.Attributes)
	for _, child := range c.Children {
		e, a := child.sum(deepest, depth+1)
		elements, attributes = elements+e, attributes+a
	}
	return elements, attributes
}

func TestWhatIsNoXMLIsNotRead(t *testing.T) {
	for _, body := range []string{
		``, `{"a":"<a/>"}`, `x<a/>`, `<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>`, `<a><!DOCTYPE b></a>`,
		`<HTML><a/></HTML>`,
	} {
		var out counted
		if err := UnmarshalXML(t.Context(), []byte(body), &out); err == nil {
			t.Errorf("%s was read", body)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := UnmarshalXML(ended, []byte(`<a/>`), new(counted)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the call's end: %v", err)
	}
	var read struct {
		Text string `xml:",chardata"`
	}
	if err := UnmarshalXML(t.Context(), []byte("<a>caf\xe9 \x0b\ufffe.</a>"), &read); err != nil ||
		read.Text != "caf\ufffd \ufffd." {
		t.Errorf("read %q, %v", read.Text, err)
	}
}

func TestCompressionIsBounded(t *testing.T) {
	bodies := map[string][]byte{
		"well":    zipped(t, strings.Repeat("0123456789abcdef", 10_000)),
		"nothing": {},
		"far":     zipped(t, "["+strings.Repeat(" ", maxAnswerBytes-2)+"]"),
		"corrupt": append(zipped(t, strings.Repeat("abc", 1000))[:20], strings.Repeat("\xff", 100)...),
		"not":     []byte("this is plain text"),
	}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "GZIP")
		_, _ = w.Write(bodies[r.URL.Path[1:]])
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	get := func(name string) (http.Header, []byte, error) {
		_, header, body, err := Do(client, request(t, http.MethodGet, server.JoinPath(name).String(), ""))
		return header, body, err
	}
	if header, body, err := get("well"); err != nil || len(body) != 160_000 ||
		header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes, %v, %v", len(body), header, err)
	}
	if _, body, err := get("nothing"); err != nil || len(body) != 0 {
		t.Errorf("%d bytes of nothing, %v", len(body), err)
	}
	_, _, err := get("far")
	wantFault(t, err, fault.Exhausted, ReasonAnswerTooLarge, false)
	for _, name := range []string{"corrupt", "not"} {
		_, _, err := get(name)
		wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, false)
	}
}

// TestReadingEndsWithTheCall reads an endless response and a slow one, and checks that reading ends with the
// call.
func TestReadingEndsWithTheCall(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{
		Provider: "rest", CallTimeout: 50 * time.Millisecond,
	})
	_, _, _, err := Do(client, request(t, http.MethodGet, server.String(), ""))
	wantFault(t, err, fault.Timeout, fault.ReasonDeadlineExceeded, false)
}

// TestAnswersHaveOneBudget checks that reading takes shares of the budget, and that decoding waits for room.
func TestAnswersHaveOneBudget(t *testing.T) {
	b := newBudget()
	if !b.reads("a", maxReadingShare) || b.reads("a", 1) {
		t.Error("a connection has another share than its own")
	}
	if !b.reads("b", maxReadingShare) || !b.reads("c", maxReadingShare) || b.reads("d", 1) {
		t.Error("all have another size than the budget")
	}
	b.hasRead("a", maxReadingShare)
	if !b.reads("d", 1) || len(b.shares) != 3 {
		t.Errorf("what was given back is not there: %v", b.shares)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		first, err := b.decode(t.Context(), 10*maxDecodingBytes) // takes the whole budget
		if err != nil {
			t.Fatal(err)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := b.decode(short, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there was more than all: %v", err)
		}
		time.AfterFunc(time.Second, first)
		began := time.Now()
		second, err := b.decode(t.Context(), maxDecodingBytes)
		if err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		second()
		second() // a second call releases nothing
		if b.decoding.TryAcquire(maxDecodingBytes + 1) {
			t.Error("more was given back than taken")
		}
	})
}

// TestRoomIsGivenBackAfterAPanic: whoever panics while decoding releases nothing, and the call goes on to its end.
func TestRoomIsGivenBackAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		client := &http.Client{Transport: &transport{pool: &Pool{budget: b}}}
		call, end := context.WithCancel(t.Context())
		for _, panics := range []bool{false, true} {
			release, err := Decoding(call, client, maxDecodingBytes, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !panics {
				release()
			}
		}
		end()
		synctest.Wait()
		if !b.decoding.TryAcquire(maxDecodingBytes) {
			t.Error("no other call has room, for as long as the process runs")
		}
	})
}

// TestRoomIsGivenBack checks that every response returns its room to the budget, however its reading ends.
func TestRoomIsGivenBack(t *testing.T) {
	good := `["` + strings.Repeat("x", maxAnswerBytes/2) + `"]`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", fmt.Sprint(len(good)+1))
		case "/more":
			defer func() { _, _ = io.WriteString(w, good+good) }()
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, good)
	})
	pool := newPool(t, PoolOptions{})
	client := pool.Client(ClientOptions{Provider: "rest", Connection: "c"})
	for _, path := range []string{"good", "cut", "more", "refused"} {
		_, _, _, _ = Do(client, request(t, http.MethodGet, server.JoinPath(path).String(), ""))
		if len(pool.budget.shares) > 0 || pool.budget.reading != 0 {
			t.Fatalf("%s: %d bytes are still being read", path, pool.budget.reading)
		}
		if !pool.budget.decoding.TryAcquire(maxDecodingBytes) {
			t.Fatalf("%s: some is still being decoded", path)
		}
		pool.budget.decoding.Release(maxDecodingBytes)
	}
	ctx, forget := context.WithCancel(t.Context())
	// The body is left open on purpose.
	resp, err := client.Do(request(t, http.MethodGet, server.String(), "").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if pool.budget.decoding.TryAcquire(maxDecodingBytes) {
		t.Error("an answer that is not closed takes nothing")
	}
	forget()
	if _, err := pool.budget.decode(t.Context(), maxDecodingBytes); err != nil {
		t.Error(err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, fault.Canceled) {
		t.Errorf("it is read after the call: %v", err)
	}
	if len(pool.budget.shares) > 0 || pool.budget.reading != 0 {
		t.Errorf("%d bytes are still being read", pool.budget.reading)
	}
}

// A large response without room is refused for now. The outcome of a write is unknown then.
func TestALargeAnswerWithoutRoom(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, map[string]int{"/large": 2 * unchargedBytes,
			"/small": unchargedBytes}[r.URL.Path]))
	})
	pool := newPool(t, PoolOptions{})
	client := pool.Client(ClientOptions{Provider: "rest", Connection: "c"})
	if !pool.budget.reads("c", maxReadingShare) {
		t.Fatal("no room from the start")
	}
	for path, want := range map[string]string{"small": "", "large": fault.ReasonOverloaded} {
		_, _, _, err := Do(client, request(t, http.MethodGet, server.JoinPath(path).String(), ""))
		if f := fault.From(err); want == "" && f != nil || want != "" && (f == nil || f.Reason != want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, _, _, err := Do(client, request(t, http.MethodPost, server.JoinPath("large").String(), ""))
	wantFault(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown, false)
	if f := fault.From(err); strings.Contains(f.Detail, "again") {
		t.Errorf("a repeat is advised that may act twice: %v", f)
	}
}

// TestListsOfEventsMayBeLarger checks that the bounds of listings are higher, and that a listing by POST
// counts as a read.
func TestListsOfEventsMayBeLarger(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := map[string]int{"/fits": maxListingBytes, "/over": maxListingBytes + 1}[r.URL.Path]
		_, _ = io.WriteString(w, strings.Repeat(strings.Repeat(" ", 99)+"\n", n/100)+strings.Repeat(" ", n%100))
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "p"})
	do := func(path string) error {
		req := request(t, http.MethodPost, server.JoinPath(path).String(), "")
		_, _, _, err := Do(client, req.WithContext(ForListing(req.Context())))
		return err
	}
	if err := do("fits"); err != nil {
		t.Error(err)
	}
	wantFault(t, do("over"), fault.Exhausted, ReasonAnswerTooLarge, false)
}

// TestWhatIsSkippedDoesNotCount checks that a response may be longer by what its request skips, but not endless.
func TestWhatIsSkippedDoesNotCount(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := map[string]int{"/fits": 2 * maxListingBytes, "/over": maxReceivedBytes}[r.URL.Path]
		w.Header().Set("Content-Length", strconv.Itoa(n+1))
		for part := strings.Repeat("x", 64<<10); n > 0; n -= len(part) {
			_, _ = io.WriteString(w, part)
		}
		_, _ = io.WriteString(w, "y")
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "p"})
	do := func(path string) (string, error) {
		req := request(t, http.MethodGet, server.JoinPath(path).String(), "")
		_, _, body, err := Do(client, req.WithContext(Skipping(req.Context(), func(all io.Reader) io.Reader {
			return from{all, 'y'}
		})))
		return string(body), err
	}
	if body, err := do("fits"); err != nil || body != "y" {
		t.Errorf("%.10q, %v", body, err)
	}
	_, err := do("over")
	wantFault(t, err, fault.Exhausted, ReasonAnswerTooLarge, false)
}

// from is a reader that leaves out what comes before a character.
type from struct {
	io.Reader
	first byte
}

func (f from) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	i := bytes.IndexByte(p[:n], f.first)
	if i < 0 {
		return 0, err
	}
	return copy(p, p[i:n]), err
}
