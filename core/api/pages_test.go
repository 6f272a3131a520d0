package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestTheDocsShowEveryOperationFieldAndError(t *testing.T) {
	g := startGateway(t)
	a := g.send("GET", "/docs", "", "X-Api-Key", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %q", a.status, a.header.Get("Content-Type"))
	}
	for _, op := range operations(Services{}) {
		for _, part := range []string{`id="` + op.ID + `"`, op.Path, op.Summary, string(op.Scope)} {
			if !strings.Contains(a.body, part) {
				t.Errorf("%s: no %q", op.ID, part)
			}
		}
		for _, f := range op.request.fields {
			if !strings.Contains(a.body, "<code>"+f.name+"</code>") {
				t.Errorf("%s: no field %s", op.ID, f.name)
			}
		}
	}
	for _, s := range problemTypes() {
		if !strings.Contains(a.body, `href="`+publicURL+`/problems/`+s.Slug+`"`) {
			t.Errorf("no link to %s", s.Slug)
		}
	}
	if !strings.Contains(a.body, `id="deprecations"`) || !strings.Contains(a.body, "<code>nylas</code>") {
		t.Error("the deprecated words are not told")
	}
}

// Whoever pastes one example of an operation after the other makes two changes, and no repeat with another body.
func TestEachExampleOfAChangeHasAKeyOfItsOwn(t *testing.T) {
	page := startGateway(t).send("GET", "/docs", "", "X-Api-Key", "").body
	want := map[string]int{}
	for _, op := range operations(Services{}) {
		for i := range op.Examples {
			if op.writes {
				want["Idempotency-Key: call-7f3c-"+strconv.Itoa(i+1)]++
			}
		}
	}
	for key, times := range want {
		if got := strings.Count(page, key); got != times {
			t.Errorf("%s stands there %d times, want %d", key, got, times)
		}
	}
}

func TestEveryProblemHasAPage(t *testing.T) {
	g := startGateway(t)
	for _, s := range problemTypes() {
		a := g.send("GET", "/problems/"+s.Slug, "", "X-Api-Key", "")
		if a.status != http.StatusOK || !strings.Contains(html.UnescapeString(a.body), s.Title) ||
			!strings.Contains(a.body, s.reason()) {
			t.Errorf("%s: %d", s.Slug, a.status)
		}
	}
}

func TestPagesAreSelfContained(t *testing.T) {
	g := startGateway(t)
	for _, path := range []string{"/docs", "/problems/slot-taken"} {
		a := g.send("GET", path, "")
		policy := a.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "style-src 'sha256-") {
			t.Errorf("%s: policy %q", path, policy)
		}
		root, err := html.Parse(strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		for node := range root.Descendants() {
			switch node.Data {
			case "script", "img", "iframe", "link", "form", "object":
				if node.Type == html.ElementNode {
					t.Errorf("%s has a %s", path, node.Data)
				}
			}
			for _, attribute := range node.Attr {
				if attribute.Key == "style" || strings.HasPrefix(attribute.Key, "on") {
					t.Errorf("%s: %s has %s", path, node.Data, attribute.Key)
				}
			}
		}
	}
}

// TestLinksOfTheDocsLeadSomewhere follows the anchors within the page.
func TestLinksOfTheDocsLeadSomewhere(t *testing.T) {
	g := startGateway(t)
	root, err := html.Parse(strings.NewReader(g.send("GET", "/docs", "").body))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, []string{}
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			switch {
			case attribute.Key == "id":
				if ids[attribute.Val] {
					t.Errorf("the id %s is there twice", attribute.Val)
				}
				ids[attribute.Val] = true
			case attribute.Key == "href" && strings.HasPrefix(attribute.Val, "#"):
				links = append(links, attribute.Val[1:])
			}
		}
	}
	for _, link := range links {
		if !ids[link] {
			t.Errorf("#%s leads nowhere", link)
		}
	}
}
