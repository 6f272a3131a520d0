package oauthtest

import (
	"cmp"
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// page is the page for the customer. Its form posts to the URL of the page.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sign in</title></head>
<body>
<h1>Sign in</h1>
<form method="post">
<p>You are <strong>{{.Account}}</strong>. {{.Client}} asks for access:</p>
<input type="hidden" name="account" value="{{.Account}}">
{{range .Scopes}}<p><label><input type="checkbox" name="scope" value="{{.Name}}"{{if .Ticked}} checked{{end}}> {{.Name}}</label></p>
{{end}}<button type="submit" name="approve" value="yes">Allow</button>
<button type="submit" name="deny" value="yes">Deny</button>
</form>
</body>
</html>
`))

type scopeBox struct {
	Name   string
	Ticked bool
}

// authorize is the authorization endpoint (RFC 6749 section 3.1). It shows errors in the client or redirect
// URI to the person, and never redirects because of them (section 4.1.2.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	ask := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	if repeatedParameter(ask) != "" {
		http.Error(w, "a parameter is there twice", http.StatusBadRequest)
		return
	}
	if _, known := s.options.Clients[ask.Get("client_id")]; !known {
		http.Error(w, "the client is not known", http.StatusUnauthorized)
		return
	}
	back, err := url.Parse(ask.Get("redirect_uri"))
	if err != nil || !back.IsAbs() || back.Fragment != "" ||
		(s.options.Redirects != nil && !slices.Contains(s.options.Redirects, ask.Get("redirect_uri"))) {
		http.Error(w, "the redirect URI is not a registered one", http.StatusBadRequest)
		return
	}
	if wrong := askedWrong(ask); wrong != "" {
		s.goBack(w, r, back, url.Values{"error": {wrong}})
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.show(w, ask)
	case http.MethodPost:
		s.decide(w, r, ask, back)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
	}
}

// askedWrong returns the error code for an invalid request, or "" for a valid one.
func askedWrong(ask url.Values) string {
	switch {
	case ask.Get("response_type") == "":
		return "invalid_request"
	case ask.Get("response_type") != "code":
		return "unsupported_response_type"
	case ask.Get("scope") == "":
		return "invalid_scope"
	// Without a method the challenge would be the plain verifier (RFC 7636 section 4.3).
	case ask.Get("code_challenge") != "" && ask.Get("code_challenge_method") != "S256":
		return "invalid_request"
	case ask.Get("code_challenge") == "" && ask.Get("code_challenge_method") != "":
		return "invalid_request"
	case ask.Get("prompt") == "none":
		return "interaction_required"
	}
	return ""
}

func (s *Server) show(w http.ResponseWriter, ask url.Values) {
	account := s.signIn
	if hint := ask.Get("login_hint"); account == "" && slices.Contains(s.options.Accounts, hint) {
		account = hint
	}
	if account == "" && len(s.options.Accounts) > 0 {
		account = s.options.Accounts[0]
	}
	var boxes []scopeBox
	for _, name := range strings.Fields(ask.Get("scope")) {
		boxes = append(boxes, scopeBox{Name: name, Ticked: !slices.Contains(s.unticked, name)})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = page.Execute(w, struct {
		Account, Client string
		Scopes          []scopeBox
	}{account, ask.Get("client_id"), boxes}) // the client may have disconnected
}

// decide processes the form. It grants the scopes that are ticked in the form. A form without an account,
// from a client that shows no page, grants all scopes but those of Untick.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, ask url.Values, back *url.URL) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	form := r.PostForm
	if (form.Get("approve") == "") == (form.Get("deny") == "") {
		http.Error(w, "either approve or deny", http.StatusBadRequest)
		return
	}
	account := cmp.Or(form.Get("account"), s.signIn)
	if account == "" && len(s.options.Accounts) > 0 {
		account = s.options.Accounts[0]
	}
	unticked := s.unticked
	s.signIn, s.unticked = "", nil
	var granted []string
	for _, name := range strings.Fields(ask.Get("scope")) {
		ticked, shown := slices.Contains(form["scope"], name), form.Has("account")
		if ticked || (!shown && !slices.Contains(unticked, name)) {
			granted = append(granted, name)
		}
	}
	if form.Get("deny") != "" || len(granted) == 0 {
		s.goBack(w, r, back, url.Values{"error": {"access_denied"}})
		return
	}
	secret := "code-" + rand.Text()
	s.codes[secret] = &code{
		grant:    s.newGrant(Token{Account: account, ClientID: ask.Get("client_id"), Scopes: granted}),
		redirect: ask.Get("redirect_uri"), challenge: ask.Get("code_challenge"),
		offline: s.options.Offline == nil || s.options.Offline(ask), expires: s.options.Now().Add(codeLife),
	}
	s.goBack(w, r, back, url.Values{"code": {secret}})
}

// goBack redirects the browser to the redirect URI, with the answer added to its query.
func (s *Server) goBack(w http.ResponseWriter, r *http.Request, back *url.URL, answer url.Values) {
	query := back.Query()
	for name, values := range answer {
		query[name] = values
	}
	if state := r.URL.Query().Get("state"); state != "" {
		query.Set("state", state)
	}
	if s.options.Issuer != "" {
		query.Set("iss", s.options.Issuer)
	}
	to := *back
	to.RawQuery = query.Encode()
	w.Header().Set("Cache-Control", "no-store")
	// 303, not 307: the browser must not repeat the POST (RFC 9700 section 4.12).
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// repeatedParameter returns the name of a parameter that occurs more than once, which RFC 6749 section 3.1
// forbids, or "" if there is none.
func repeatedParameter(values url.Values) string {
	for name, all := range values {
		if len(all) > 1 {
			return name
		}
	}
	return ""
}
