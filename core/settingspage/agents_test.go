package settingspage_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/signin"
)

// A voice agent is added with a secret that is never shown, its address is shown, and it is removed.
func TestVoiceAgentsAreManaged(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{Person: "pat"})
	const page, secret = "/settings/tenants/acme/agents", "a-secret-that-nobody-sees"
	form := url.Values{
		"platform": {"vapi"}, "name": {"reception"}, "credentials.signing": {secret}, "scopes": {"calendar:read"},
	}
	for field, values := range map[string]url.Values{
		"name": {"name": {"No Name"}}, "platform": {"platform": {"fax"}},
		"credentials.signing": {"credentials.signing": {"short"}}, "scopes": {"scopes": nil}, "taken": {"platform": {"retell"}, "name": nil},
	} {
		wrong := url.Values{}
		for name, value := range form {
			wrong[name] = value
		}
		for name, value := range values {
			wrong[name] = value
		}
		p := b.post(page, wrong)
		if p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, secret) {
			t.Errorf("a wrong %s: %d %s", field, p.status, p.body)
		}
		if (field == "name" || field == "credentials.signing") && !strings.Contains(p.body, field+"-error") {
			t.Errorf("the fault is not beside %s: %s", field, p.body)
		}
	}
	if p := b.post(page, form); p.status != http.StatusOK && p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.body)
	}
	p := b.get(page)
	if !strings.Contains(p.body, "<bdi>reception</bdi> at vapi") ||
		!strings.Contains(p.body, w.url+"/alpha/agents/vapi/agent_") ||
		strings.Contains(p.body, secret) {
		t.Errorf("the agent is not listed: %s", p.body)
	}
	if p := b.get("/settings/tenants/acme/agent"); !strings.Contains(p.body, `href="`+page+`"`) {
		t.Errorf("nothing leads to the agents: %s", p.body)
	}
	viewer := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer})
	if p := viewer.get(page); p.status != http.StatusOK || strings.Contains(p.body,
		"<form method=\"post\">\n") ||
		strings.Contains(p.body, "Remove…") {
		t.Errorf("a viewer may change agents: %s", p.body)
	}
	remove := page + "/" + w.agents["acme"] + "/remove"
	if p := b.get(remove); p.status != http.StatusOK || !strings.Contains(p.body, "has another address") {
		t.Errorf("%d %s", p.status, p.body)
	}
	b.post(remove, nil)
	if p := b.get(page); strings.Contains(p.body, w.agents["acme"]) {
		t.Errorf("the agent is still there: %s", p.body)
	}
	if p := b.get(remove); p.status != http.StatusNotFound {
		t.Errorf("once more: %d %s", p.status, p.body)
	}
}
