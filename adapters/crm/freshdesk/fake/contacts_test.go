package fake_test

import (
	"net/url"
	"strings"
	"testing"

	"frontdesk/adapters/crm/freshdesk/fake"
)

func TestContactsAreFoundAsFreshdeskDocuments(t *testing.T) {
	s := fake.New(fake.Options{APIKey: key})
	s.AddContact("Pat Known", "pat@example.com", "(513) 555-7611", "5135550100", "")
	found := func(path, parameter, value string) string {
		w := ask(t, s, "GET", "/api/v2/"+path+"?"+parameter+"="+url.QueryEscape(value), "", nil)
		switch {
		case w.Code == 400:
			return "refused"
		case w.Code != 200:
			return w.Body.String()
		case strings.Contains(w.Body.String(), "Pat Known"):
			return "Pat"
		}
		return "nobody"
	}
	for query, want := range map[string]string{
		`"phone:'(513) 555-7611'"`:                         "Pat",
		`"mobile:5135550100"`:                              "Pat",
		`"phone:'+15135557611' OR phone:'(513) 555-7611'"`: "Pat",
		`"phone:'(513) 555-7611' AND mobile:'5135550100'"`: "Pat",
		`"phone:'(513) 555-7611' AND mobile:'x'"`:          "nobody",
		`"phone:'5135557611'"`:                             "nobody",
		`phone:'5135557611'`:                               "refused",
		`"phone:'5135557611"`:                              "refused",
		`"phone:(513) 555-7611"`:                           "refused",
		`"fax:'5135557611'"`:                               "refused",
		`"phone:'1' OR"`:                                   "refused",
		`"phone:'1' OR phone:'2' AND phone:'3'"`:           "refused",
		`""`:                                               "refused",
		`"email:'` + strings.Repeat("x", 510) + `'"`:       "refused",
		`"phone:'x'' OR email:'pat@example.com'"`:          "refused",
	} {
		if got := found("search/contacts", "query", query); got != want {
			t.Errorf("%s: found %s, want %s", query, got, want)
		}
	}
	for email, want := range map[string]string{
		"pat@example.com": "Pat", "PAT@example.com": "Pat", "at@example.com": "nobody", "*": "refused",
	} {
		if got := found("contacts", "email", email); got != want {
			t.Errorf("%s: found %s, want %s", email, got, want)
		}
	}
	for path, want := range map[string]int{
		"contacts?phone=5135557611&page=0": 400, "contacts?name=Pat": 400, "search/contacts?query=%22phone:1%22&page=11": 400,
		"companies/501000456789": 200, "companies/1": 404, "companies/x": 404,
		"tickets?requester_id=1": 400, "tickets?requester_id=501001204168&order_by=updated_at": 200,
	} {
		if w := ask(t, s, "GET", "/api/v2/"+path, "", nil); w.Code != want {
			t.Errorf("%s: answered %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}
