package fake

import (
	"net/http"
	"slices"
	"strings"
)

// The paths of Twilio's other APIs, which have their own hosts
// (twilio.com/docs/sip-trunking/api/trunk-resource, twilio.com/docs/phone-numbers/regulatory/api/bundles).
const (
	trunks  = "/v1/Trunks/"
	bundles = "/v2/RegulatoryCompliance/Bundles/"
)

func isProduct(path string) bool {
	return strings.HasPrefix(path, trunks) || strings.HasPrefix(path, bundles)
}

// answerProduct serves the trunk or the bundle. Both belong to the parent account: its subaccount has none.
func (s *Server) answerProduct(r *http.Request) (int, map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := call{Server: s, path: strings.TrimPrefix(r.URL.EscapedPath(), "/")}
	as := s.who(r)
	switch {
	case as == anonymous:
		return 0, nil, unauthenticated()
	case s.status != "active":
		return 0, nil, inactive()
	case r.Method != http.MethodGet:
		return 0, nil, refuse(http.StatusMethodNotAllowed, 20004, "Method not allowed")
	case as != owner && as != standardKey:
		return 0, nil, notFound(c.path)
	}
	if name, is := strings.CutPrefix(r.URL.EscapedPath(), trunks); is {
		body, refused := c.show(name, Trunk)
		return http.StatusOK, body, refused
	}
	body, refused := c.show(strings.TrimPrefix(r.URL.EscapedPath(), bundles), Bundle)
	if refused == nil {
		body["status"] = map[bool]string{true: "in-review", false: "twilio-approved"}[s.pending]
	}
	return http.StatusOK, body, refused
}

// show returns a resource of which there is only one.
func (c call) show(sid, known string) (map[string]any, *refusal) {
	if sid != known || slices.Contains(c.removed, sid) {
		return nil, notFound(c.path)
	}
	return map[string]any{"sid": sid, "account_sid": c.options.AccountSID, "friendly_name": "Front desk"}, nil
}

// Remove removes the application, the trunk, the address or the bundle.
func (s *Server) Remove(sid string) { s.with(func() { s.removed = append(s.removed, sid) }) }

// PutBack restores everything that was removed.
func (s *Server) PutBack() { s.with(func() { s.removed = nil }) }

// Unapprove makes the bundle wait for approval.
func (s *Server) Unapprove() { s.with(func() { s.pending = true }) }
