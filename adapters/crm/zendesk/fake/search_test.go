package fake_test

import (
	"net/url"
	"strings"
	"testing"

	"frontdesk/adapters/crm/zendesk/fake"
)

func TestASearchFindsWhatZendeskDocuments(t *testing.T) {
	s := fake.New(fake.Options{APIToken: token})
	s.AddUser("Pat Known", "", []string{"pat@example.com"}, []string{"+1 513.555.7611"})
	for query, want := range map[string]string{
		"role:end-user phone:*5135557611":           "Pat",
		"phone:15135557611":                         "Pat",
		"phone:5135557611":                          "nobody",
		"phone:*+15135557611":                       "nobody",
		"phone:*(513)555-7611":                      "nobody",
		"phone:*":                                   "nobody",
		"role:agent phone:*5135557611":              "nobody",
		"type:user known":                           "Pat",
		`email:"PAT@example.com"`:                   "Pat",
		`email:"at@example"`:                        "Pat",
		"email:*@example.com role:end-user":         "Pat",
		`email:"x@example.com" email:pat`:           "Pat",
		`email:"x@example.com"`:                     "nobody",
		"":                                          "refused",
		`email:"pat@example.com`:                    "refused",
		`email:"a"b@example.com"`:                   "refused",
		"telephone:*5135557611":                     "refused",
		`role:end-user email:"pat@example.com"name`: "refused",
	} {
		w := ask(t, s, "GET", "/api/v2/users/search?query="+url.QueryEscape(query), "", nil)
		got := "nobody"
		switch {
		case w.Code == 422:
			got = "refused"
		case w.Code != 200:
			got = w.Body.String()
		case strings.Contains(w.Body.String(), "Pat Known"):
			got = "Pat"
		}
		if got != want {
			t.Errorf("%s: found %s, want %s", query, got, want)
		}
	}
}

func TestListsOfUsersAndTicketsAreRefused(t *testing.T) {
	s := fake.New(fake.Options{APIToken: token})
	for path, want := range map[string]int{
		"users/search?query=x&page=0":                             400,
		"users/search?query=x&sort_by=name":                       400,
		"users/show_many?ids=1&include=names":                     400,
		"users/show_many?ids=" + strings.Repeat("1,", 100):        400,
		"users/1/tickets/requested":                               404,
		"users/20978392000303/tickets/requested?sort_by=id":       400,
		"users/20978392000303/tickets/requested?page=1":           200,
		"users/show_many?ids=1,20978392000303&include=identities": 200,
	} {
		if w := ask(t, s, "GET", "/api/v2/"+path, "", nil); w.Code != want {
			t.Errorf("%s: answered %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}
