package gateway

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forCallers are the reasons of which the caller, not the operator, changes something. The description of the
// interface lists them. Those of the sandbox's and the tests' own faults are here, too.
var forCallers = []string{
	"AGENT_NOT_FOUND", "ALREADY_EXISTS", "API_KEY_NOT_FOUND", "BODY_TOO_LARGE", "BODY_TOO_SLOW",
	"CALENDAR_NOT_FOUND", "CANCELED",
	"CHANGED_MEANWHILE", "CONFERENCING_UNAVAILABLE", "CONNECTION_IN_USE", "CONNECTION_NOT_FOUND",
	"CONNECT_LINK_BUSY", "CONNECT_LINK_NOT_FOUND", "CONSENT_NOT_FOUND", "DELIVERY_NOT_FOUND",
	"EMERGENCY_ADDRESS_REGISTERED", "EVENT_NOT_FOUND", "EXHAUSTED", "IDEMPOTENCY_IN_PROGRESS",
	"IDEMPOTENCY_KEY_REUSED",
	"INTENT_LOST", "INVALID_REQUEST", "MALFORMED_JSON", "METHOD_NOT_ALLOWED", "NAME_TAKEN", "NOT_FOUND",
	"NOT_SUPPORTED", "NO_NUMBERS_AVAILABLE",
	"NUMBER_LOCKED", "NUMBER_TAKEN", "OPENING_HOURS_NOT_FOUND", "ORDER_PENDING", "PATH_NOT_FOUND",
	"PHONE_NUMBER_NOT_FOUND",
	"SIGN_IN_LINK_NOT_FOUND", "SLOT_NOT_FOUND", "SLOT_TAKEN", "TENANT_NOT_FOUND", "TICKET_INCOMPLETE",
	"TICKET_NOT_FOUND", "TOO_MANY_EVENTS", "UNSUPPORTED_MEDIA_TYPE", "WEBHOOK_NOT_FOUND",
}

// Every check of the doctor and every reason that an operator may meet is in the document, and nothing else
// is.
func TestEveryReasonIsInTheDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../deploy/troubleshoot.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(raw)
	for _, check := range Checks() {
		if !strings.Contains(document, "\n| `"+check+"` |") {
			t.Errorf("the check %s is not in deploy/troubleshoot.md", check)
		}
	}
	known := reasonsOf(t, "../../core", "../../adapters")
	if len(known) < 80 {
		t.Fatalf("%d reasons are found: %v", len(known), known)
	}
	for _, reason := range known {
		if strings.Contains(document, "`"+reason+"`") == slices.Contains(forCallers, reason) {
			t.Errorf("the reason %s belongs either to deploy/troubleshoot.md or to forCallers", reason)
		}
	}
	explained := regexp.MustCompile("`([A-Z]+(?:_[A-Z]+)+|INTERNAL|OVERLOADED)`")
	for _, named := range explained.FindAllStringSubmatch(document, -1) {
		if !slices.Contains(known, named[1]) {
			t.Errorf("deploy/troubleshoot.md explains %s, which nothing answers", named[1])
		}
	}
}

// reasonsOf returns the reasons that the code below these folders declares or answers, sorted.
func reasonsOf(t *testing.T, folders ...string) []string {
	t.Helper()
	declared := regexp.MustCompile(
		`(?:[rR]eason[A-Za-z]*\s*=|fault\.Newf?\([a-zA-Z.]+,)\s*"([A-Z]+(?:_[A-Z]+)*)"`)
	var all []string
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
			isTest := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") ||
				strings.Contains(path, "/fake/") || strings.Contains(path, "conformance")
			if err != nil || entry.IsDir() || isTest || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(folder + "/" + path)
			for _, m := range declared.FindAllSubmatch(text, -1) {
				all = append(all, string(m[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
