package consent

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"frontdesk/core/consent/consenttest"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/page"
	"frontdesk/core/tenant/tenanttest"
)

func TestThePageOfALinkTellsWhoAsksForWhat(t *testing.T) {
	w := start(t)
	token := w.link()
	a := w.send(http.MethodGet, w.url+"/connect/"+token)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.text())
	}
	wantPage(t, a)
	for _, says := range []string{"<h1>Connect Meet Calendar</h1>", "<strong><bdi>acme</bdi></strong> asks",
		"See and change events in your calendars", "See the list of your calendars",
		"withdraw the access at any time", "22 November 2026, 09:00 UTC",
		strings.TrimPrefix(w.meet.URL, "http://")} {
		if !strings.Contains(a.body, says) {
			t.Errorf("no %q in\n%s", says, a.text())
		}
	}
	if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"form-action 'self' "+w.meet.URL+";") {
		t.Errorf("policy %q", policy)
	}
	w.connect(token)
	again := w.send(http.MethodGet, w.url+"/connect/"+w.link())
	for _, says := range []string{"<h1>Reconnect Meet Calendar</h1>", "desk@acme.example"} {
		if !strings.Contains(again.body, says) {
			t.Errorf("reconnecting, no %q in\n%s", says, again.text())
		}
	}
}

// A platform's own "connect" button leads back to the platform, which learns the outcome. A failure is shown
// first: the customer may try again.
func TestTheCustomerReturnsToThePlatform(t *testing.T) {
	w := start(t)
	returning := func(n *link.Spec) { n.ReturnURL = tenanttest.ReturnURL + "7?tab=calendar" }
	token := w.link(returning)
	ask := w.send(http.MethodGet, w.url+"/connect/"+token)
	if policy := ask.header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"form-action 'self' "+w.meet.URL+" https://platform.example.com;") {
		t.Errorf("policy %q", policy)
	}
	declined := w.send(http.MethodGet, w.back(token, "deny").String())
	back := tenanttest.ReturnURL +
		"7?connection=front-office&amp;outcome=failed&amp;reason=CONSENT_DECLINED&amp;tab=calendar"
	if declined.status == http.StatusSeeOther || !strings.Contains(declined.body, `<a href="`+back+`">`) ||
		!strings.Contains(declined.body, "Try again") {
		t.Errorf("declined: %d %s", declined.status, declined.text())
	}
	connected := w.send(http.MethodGet, w.back(token, "approve").String())
	want := tenanttest.ReturnURL + "7?connection=front-office&outcome=connected&tab=calendar"
	if got := connected.header.Get("Location"); connected.status != http.StatusSeeOther || got != want ||
		connected.header.Get("Referrer-Policy") != "no-referrer" ||
		connected.header.Get("Cache-Control") != "no-store" {
		t.Errorf("connected: %d to %q, want %q", connected.status, got, want)
	}
	// Who did not begin the consent is led nowhere.
	stranger := w.send(http.MethodGet, w.url+"/oauth/callback/meet?state="+strings.Repeat("a", 43)+"&code=x")
	if stranger.header.Get("Location") != "" || strings.Contains(stranger.body, "platform.example.com") {
		t.Errorf("a stranger is led to %q: %s", stranger.header.Get("Location"), stranger.text())
	}
}

func TestWhoMayChooseAnotherAccountIsToldSo(t *testing.T) {
	w := start(t)
	w.connect(w.link())
	free := w.send(http.MethodGet, w.url+"/connect/"+w.link(func(n *link.Spec) { n.OtherAccount = true }))
	if !strings.Contains(free.body, "Now it uses") || !strings.Contains(free.body, "desk@acme.example") {
		t.Error(free.text())
	}
}

// The redirect URI is derived from the configured public URL, not from the Host of a request.
func TestTheRedirectDoesNotFollowTheHostOfARequest(t *testing.T) {
	w := start(t)
	req, err := http.NewRequest(http.MethodPost, w.url+"/connect/"+w.link(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	for name, value := range map[string]string{
		"Sec-Fetch-Site": "same-origin", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
		"Forwarded": "host=evil.example",
	} {
		req.Header.Set(name, value)
	}
	a := w.do(req)
	to, err := url.Parse(a.header.Get("Location"))
	if err != nil || to.Query().Get("redirect_uri") != w.url+"/oauth/callback/meet" {
		t.Errorf("sent to %s, %v", to, err)
	}
}

// A provider that accepts any redirect URI gives its code to an attacker who changed the request. The code is
// useless at the callback.
func TestACodeForAnotherRedirectGivesNoTokens(t *testing.T) {
	w := start(t, func(o *oauthtest.Options) { o.Redirects = nil })
	token, before := w.link(), w.stored()
	own := w.url + "/oauth/callback/meet"
	for rule, redirect := range map[string]string{
		"something attached to the path": own + "/evil", "a slash attached": own + "/",
		"the path cut off": w.url + "/oauth/callback", "another provider's": w.url + "/oauth/callback/dial",
		"https for http":         strings.Replace(own, "http:", "https:", 1),
		"another port":           strings.Replace(own, w.url, "http://127.0.0.1:1", 1),
		"another host":           strings.Replace(own, "127.0.0.1", "evil.example", 1),
		"a host by another name": strings.Replace(own, "127.0.0.1", "localhost", 1),
		"a user in front":        strings.Replace(own, "127.0.0.1", "127.0.0.1@evil.example", 1),
		"the scheme in capitals": strings.Replace(own, "http:", "HTTP:", 1),
		"encoded":                strings.Replace(own, "callback", "c%61llback", 1),
		"a query attached":       own + "?x=1",
		"a dot segment":          strings.Replace(own, "/meet", "/x/../meet", 1),
	} {
		ask, err := url.Parse(w.begin(token))
		if err != nil {
			t.Fatal(err)
		}
		q := ask.Query()
		q.Set("redirect_uri", redirect)
		ask.RawQuery = q.Encode()
		stolen := w.meet.Decide(t, ask.String(), "approve").Query()
		stolen.Del("x")
		a := w.send(http.MethodGet, own+"?"+stolen.Encode())
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, "did not accept the sign-in") ||
			w.stored() != before {
			t.Errorf("%s: %d %s", rule, a.status, a.text())
		}
	}
	w.connect(token)
}

func TestAnOldBrowserCanPressTheButton(t *testing.T) {
	w := start(t)
	a := w.send(http.MethodPost, w.url+"/connect/"+w.link(), "Sec-Fetch-Site", "", "Origin", w.url)
	if a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.text())
	}
}

func TestLookingAtALinkDoesNothing(t *testing.T) {
	w := start(t)
	token := w.link()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		a := w.send(method, w.url+"/connect/"+token)
		if a.status != http.StatusOK || a.header.Get("Set-Cookie") != "" ||
			method == http.MethodHead && a.body != "" {
			t.Errorf("%s: %d %v", method, a.status, a.header)
		}
	}
	if calls := w.meet.TokenCalls(); calls != 0 {
		t.Errorf("the provider was asked %d times", calls)
	}
	w.connect(token)
}

func TestTheLastPageTellsTheAccountAndTheCalendar(t *testing.T) {
	w := start(t)
	w.meet.Call(`Front desk <script>alert("x")</script>`)
	a := w.connect(w.link())
	wantPage(t, a)
	text := html.UnescapeString(a.text())
	for _, says := range []string{
		"Meet Calendar is connected", "desk@acme.example", `Front desk <script>alert("x")</script>`, "acme",
		"close this window",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Contains(a.body, "<script") {
		t.Errorf("a calendar's name is markup: %s", a.text())
	}
	if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'none'") {
		t.Errorf("policy %q", policy)
	}
}

func TestWhoDeclinedFindsTheWayBack(t *testing.T) {
	w := start(t)
	token := w.link()
	a := w.send(http.MethodGet, w.back(token, "deny").String())
	if !strings.Contains(a.body, `<a href="`+w.url+"/connect/"+token+`">Try again</a>`) {
		t.Errorf("no way back in\n%s", a.text())
	}
	w.connect(token)
}

func TestWhatWasUntickedIsNamed(t *testing.T) {
	w := start(t)
	w.meet.Untick(consenttest.ScopeList)
	a := w.send(http.MethodGet, w.back(w.link(), "approve").String())
	if !strings.Contains(a.text(), "<li>See the list of your calendars</li>") ||
		strings.Contains(a.text(), "See and change events") {
		t.Error(a.text())
	}
}

func TestAnotherAccountIsToldBothAddresses(t *testing.T) {
	w := start(t)
	w.connect(w.link())
	before := w.stored()
	w.meet.SignIn("other@acme.example")
	a := w.send(http.MethodGet, w.back(w.link(), "approve").String())
	if a.status != http.StatusConflict || !strings.Contains(a.body, "desk@acme.example") ||
		!strings.Contains(a.body, "other@acme.example") {
		t.Errorf("%d\n%s", a.status, a.text())
	}
	if w.stored() != before {
		t.Error("something was stored")
	}
}

func TestTwoWindowsDoNotDisturbEachOther(t *testing.T) {
	w := start(t)
	first, second := w.link(), w.link(func(n *link.Spec) { n.Connection.Name = "back-office" })
	one, two := w.back(first, "approve"), w.back(second, "approve")
	for _, back := range []*url.URL{one, two} {
		if a := w.send(http.MethodGet, back.String()); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.text())
		}
	}
	if left := w.jar.Cookies(one); len(left) != 0 {
		t.Errorf("the browser keeps %v", left)
	}
}

func TestTheLogNamesOperationsAndNotPaths(t *testing.T) {
	w := start(t)
	token := w.link()
	w.send(http.MethodGet, w.url+"/connect/"+token)
	w.connect(token)
	w.send(http.MethodGet, w.url+"/connect/"+token)
	w.send(http.MethodGet, w.url+"/connect/"+token+"/x")
	w.send(http.MethodPut, w.url+"/connect/"+token)
	var seen []string
	for line := range strings.Lines(w.log.String()) {
		var entry struct{ Msg, Operation, Path, Reason string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "request answered" {
			seen = append(seen, strings.Join([]string{entry.Operation, entry.Path, entry.Reason}, "|"))
		}
	}
	want := "connect-page|| connect-begin|| connect-finish|| connect-page||CONNECT_LINK_USED " +
		"|/connect/…|PATH_NOT_FOUND |/connect/…|METHOD_NOT_ALLOWED"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(w.log.String(), token) {
		t.Errorf("the link is logged: %s", w.log)
	}
}

// still implements Links without a store: it begins every consent, and finishes none.
type still struct {
	answer    link.Answer
	callbacks string
	takes     time.Duration // to finish
	err       error
}

func (s *still) Get(context.Context, string) (link.Link, error) {
	return link.Link{Title: "Meet", SignIn: "https://accounts.example"}, s.err
}

func (s *still) BeginConsent(_ context.Context, _, callbacks string) (link.Begun, error) {
	s.callbacks = callbacks
	return link.Begun{
		URL: "https://accounts.example/auth", Browser: "secret-of-the-browser", Name: link.ConsentName("s"),
		Life: 10 * time.Minute,
	}, s.err
}

func (s *still) FinishConsent(_ context.Context, a link.Answer) (link.Consented, error) {
	s.answer = a
	time.Sleep(s.takes)
	return link.Consented{}, s.err
}

// The server has a write timeout. Finishing a consent may take longer, and the page is still sent.
func TestAProviderThatTakesItsTimeIsWaitedFor(t *testing.T) {
	server := httptest.NewUnstartedServer(surface(t, "https://gw.example", &still{takes: 300 * time.Millisecond},
		slog.New(slog.DiscardHandler)))
	server.Config.WriteTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(server.URL + "/oauth/callback/meet?state=s")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d", response.StatusCode)
	}
}

func TestTheCookieFitsTheAddressOfTheGateway(t *testing.T) {
	name := "frontdesk-consent-" + link.ConsentName("s")
	for _, c := range []struct{ publicURL, want, callbacks string }{
		{"https://gw.example", "__Host-" + name +
			"=secret-of-the-browser; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax",
			"https://gw.example/oauth/callback/"},
		{"https://gw.example/desk/", "__Host-" + name +
			"=secret-of-the-browser; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax",
			"https://gw.example/desk/oauth/callback/"},
		{"http://127.0.0.1:8080", name +
			"=secret-of-the-browser; Path=/oauth/callback; Max-Age=600; HttpOnly; SameSite=Lax",
			"http://127.0.0.1:8080/oauth/callback/"},
		{"http://127.0.0.1:8080/desk",
			name + "=secret-of-the-browser; Path=/desk/oauth/callback; Max-Age=600; HttpOnly; SameSite=Lax",
			"http://127.0.0.1:8080/desk/oauth/callback/"},
	} {
		d := &still{}
		handler := surface(t, c.publicURL, d, slog.New(slog.DiscardHandler))
		r, w := httptest.NewRequest(http.MethodPost, "/connect/t", nil), httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Header().Get("Set-Cookie"); w.Code != http.StatusSeeOther || got != c.want ||
			d.callbacks != c.callbacks {
			t.Errorf("%s: %d, cookie %q, callbacks %q", c.publicURL, w.Code, got, d.callbacks)
		}

		r, w = httptest.NewRequest(http.MethodGet, "/oauth/callback/meet?state=s&code=c", nil),
			httptest.NewRecorder()
		cookie, _, _ := strings.Cut(c.want, ";")
		r.Header.Set("Cookie", cookie)
		handler.ServeHTTP(w, r)
		if d.answer.Browser != "secret-of-the-browser" || d.answer.Callback != "meet" {
			t.Errorf("%s: the answer has %+v", c.publicURL, d.answer)
		}
		if cleared := w.Header().Get("Set-Cookie"); !strings.Contains(cleared, "Max-Age=0") ||
			strings.Contains(cleared, "secret") {
			t.Errorf("%s: afterwards %q", c.publicURL, cleared)
		}
	}
}

// Chromium also applies the page's form-action to the redirects after a form.
func TestTheFormMayLeadOnToOtherHostsOfASignInService(t *testing.T) {
	handler := surface(t, "https://gw.example", &still{}, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/connect/t", nil))
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy,
		"form-action 'self' https://accounts.example https:;") {
		t.Errorf("policy %q", policy)
	}
}

func TestEveryFailureHasAPage(t *testing.T) {
	codes := []fault.Code{fault.Invalid, fault.Unauthenticated, fault.Disconnected, fault.Forbidden,
		fault.NotFound, fault.Conflict, fault.Exhausted,
		fault.Unsupported, fault.RateLimited, fault.Unavailable, fault.Timeout, fault.Canceled,
		fault.UnknownOutcome, fault.Internal}
	var all []error
	for _, code := range codes {
		all = append(all, fault.New(code, "A_REASON", "canary detail").Because(context.DeadlineExceeded))
	}
	for reason := range byReason {
		all = append(all, fault.New(fault.Internal, reason, "canary detail"))
	}
	d := &still{}
	handler := surface(t, "https://gw.example", d, slog.New(slog.DiscardHandler))
	for _, err := range all {
		d.err = err
		for _, r := range []*http.Request{
			httptest.NewRequest(http.MethodGet, "/connect/t", nil),
			httptest.NewRequest(http.MethodPost, "/connect/t", nil),
			httptest.NewRequest(http.MethodGet, "/oauth/callback/meet?state=s", nil),
		} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			a := answer{w.Code, w.Header(), w.Body.String()}
			wantPage(t, a)
			if a.status < 400 || strings.Contains(a.body, "canary") || strings.ContainsAny(a.text(), "{}%") ||
				strings.Count(a.body, "<h1>") != 1 || strings.Contains(a.body, "<p></p>") {
				t.Errorf("%v: %d %s", err, a.status, a.text())
			}
		}
	}
}

func TestPagesHaveNeitherScriptNorAnythingFromElsewhere(t *testing.T) {
	w := start(t)
	token := w.link()
	for _, a := range []answer{
		w.send(http.MethodGet, w.url+"/connect/"+token), w.send(http.MethodGet, w.back(token, "deny").String()),
		w.connect(token),
	} {
		root, err := html.Parse(strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		for node := range root.Descendants() {
			switch node.Data {
			case "script", "iframe", "link", "object", "base":
				if node.Type == html.ElementNode {
					t.Errorf("a page has a %s", node.Data)
				}
			}
			for _, attribute := range node.Attr {
				if attribute.Key == "src" && !strings.HasPrefix(attribute.Val, page.BrandPath) {
					t.Errorf("%s is from %s", node.Data, attribute.Val)
				}
				if attribute.Key == "style" || strings.HasPrefix(attribute.Key, "on") {
					t.Errorf("%s has %s", node.Data, attribute.Key)
				}
			}
		}
	}
}
