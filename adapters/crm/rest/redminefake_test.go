package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redmineFake pretends to be Redmine 5 as far as the example goes, from its documentation
// (redmine.org/projects/redmine/wiki/Rest_api, Rest_Issues, Rest_IssueStatuses and Rest_Enumerations). One project, support.
type redmineFake struct {
	mu     sync.Mutex
	issues []*redmineIssue
}

type redmineIssue struct {
	id                         int
	subject, description       string
	status, priority, assigned int
	created, updated, closed   time.Time
	journals                   []map[string]any
}

const redmineKey = "0123456789abcdef0123456789abcdef01234567"

var (
	redmineStatuses   = []redmineWord{{1, "New", false}, {2, "In Progress", false}, {5, "Closed", true}}
	redminePriorities = []redmineWord{{1, "Low", false}, {2, "Normal", false}, {3, "High", false}}
)

type redmineWord struct {
	id     int
	name   string
	closed bool
}

func redmineName(words []redmineWord, id int) (redmineWord, bool) {
	i := slices.IndexFunc(words, func(w redmineWord) bool { return w.id == id })
	if i < 0 {
		return redmineWord{}, false
	}
	return words[i], true
}

// status is the id of a status.
func (f *redmineFake) status(name string) int {
	return redmineStatuses[slices.IndexFunc(redmineStatuses, func(w redmineWord) bool { return w.name == name })].id
}

func (f *redmineFake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.issues)
}

func (f *redmineFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("X-Redmine-API-Key") != redmineKey {
		w.WriteHeader(http.StatusUnauthorized) // with no body
		return
	}
	below, beside := strings.CutPrefix(r.URL.EscapedPath(), "/issues/")
	number, isIssue := strings.CutSuffix(below, ".json")
	isIssue = isIssue && beside
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/users/current.json":
		redmineAnswer(w, http.StatusOK, map[string]any{"user": map[string]any{"id": 5, "login": "alice", "firstname": "Alice", "lastname": "Desk", "mail": "alice@example.com"}})
	case r.Method == http.MethodGet && r.URL.Path == "/issue_statuses.json":
		var list []any
		for _, s := range redmineStatuses {
			list = append(list, map[string]any{"id": s.id, "name": s.name, "is_closed": s.closed})
		}
		redmineAnswer(w, http.StatusOK, map[string]any{"issue_statuses": list})
	case r.Method == http.MethodGet && r.URL.Path == "/enumerations/issue_priorities.json":
		list := []any{map[string]any{"id": 9, "name": "Retired", "is_default": false, "active": false}}
		for _, p := range redminePriorities {
			list = append(list, map[string]any{"id": p.id, "name": p.name, "is_default": p.id == 2, "active": true})
		}
		redmineAnswer(w, http.StatusOK, map[string]any{"issue_priorities": list})
	case r.Method == http.MethodPost && r.URL.Path == "/issues.json":
		f.create(w, r)
	case isIssue && f.issue(number) == nil:
		w.WriteHeader(http.StatusNotFound) // with no body
	case isIssue && r.Method == http.MethodGet:
		issue := f.issue(number)
		shown := issue.shown()
		if r.URL.Query().Get("include") == "journals" {
			shown["journals"] = issue.journals
		}
		redmineAnswer(w, http.StatusOK, map[string]any{"issue": shown})
	case isIssue && r.Method == http.MethodPut:
		f.change(w, r, f.issue(number))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func redmineAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func redmineRefuse(w http.ResponseWriter, errors ...string) {
	redmineAnswer(w, http.StatusUnprocessableEntity, map[string]any{"errors": errors})
}

func (f *redmineFake) issue(number string) *redmineIssue {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(f.issues) {
		return nil
	}
	return f.issues[n-1]
}

func (f *redmineFake) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Issue struct {
			ProjectID   string  `json:"project_id"`
			Subject     string  `json:"subject"`
			Description string  `json:"description"`
			StatusID    int     `json:"status_id"`
			PriorityID  int     `json:"priority_id"`
			AssignedTo  *string `json:"assigned_to_id"`
		} `json:"issue"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || r.Header.Get("Content-Type") != "application/json" {
		redmineRefuse(w, fmt.Sprintf("Request cannot be read: %v", err))
		return
	}
	now := time.Now().UTC().Truncate(time.Second)
	issue := &redmineIssue{
		id: len(f.issues) + 1, subject: in.Issue.Subject, description: in.Issue.Description, created: now, updated: now,
		status: max(in.Issue.StatusID, 1), priority: in.Issue.PriorityID, journals: []map[string]any{},
	}
	if issue.priority == 0 {
		issue.priority = 2
	}
	var errors []string
	if in.Issue.ProjectID != "support" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if issue.subject == "" {
		errors = append(errors, "Subject cannot be blank")
	}
	if in.Issue.AssignedTo != nil {
		if *in.Issue.AssignedTo != "5" {
			errors = append(errors, "Assignee is invalid")
		}
		issue.assigned = 5
	}
	status, known := redmineName(redmineStatuses, issue.status)
	if !known {
		errors = append(errors, "Status is not included in the list")
	}
	if _, known := redmineName(redminePriorities, issue.priority); !known {
		errors = append(errors, "Priority is not included in the list")
	}
	if len(errors) > 0 {
		redmineRefuse(w, errors...)
		return
	}
	if status.closed {
		issue.closed = now
	}
	f.issues = append(f.issues, issue)
	redmineAnswer(w, http.StatusCreated, map[string]any{"issue": issue.shown()})
}

func (i *redmineIssue) shown() map[string]any {
	status, _ := redmineName(redmineStatuses, i.status)
	priority, _ := redmineName(redminePriorities, i.priority)
	shown := map[string]any{
		"id": i.id, "project": map[string]any{"id": 1, "name": "Support"}, "status": map[string]any{"id": status.id, "name": status.name},
		"priority": map[string]any{"id": priority.id, "name": priority.name}, "author": map[string]any{"id": 5, "name": "Alice Desk"},
		"subject": i.subject, "description": i.description,
		"created_on": i.created.Format(time.RFC3339), "updated_on": i.updated.Format(time.RFC3339), "closed_on": nil,
	}
	if !i.closed.IsZero() {
		shown["closed_on"] = i.closed.Format(time.RFC3339)
	}
	if i.assigned != 0 {
		shown["assigned_to"] = map[string]any{"id": i.assigned, "name": "Alice Desk"}
	}
	return shown
}

// change leaves the time of closing when an issue is opened again.
func (f *redmineFake) change(w http.ResponseWriter, r *http.Request, issue *redmineIssue) {
	var in struct {
		Issue struct {
			Notes    string `json:"notes"`
			Private  bool   `json:"private_notes"`
			StatusID int    `json:"status_id"`
		} `json:"issue"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		redmineRefuse(w, err.Error())
		return
	}
	issue.updated = time.Now().UTC().Truncate(time.Second)
	journal := map[string]any{
		"id": len(issue.journals) + 1, "user": map[string]any{"id": 5, "name": "Alice Desk"}, "notes": in.Issue.Notes,
		"private_notes": in.Issue.Private, "created_on": issue.updated.Format(time.RFC3339), "details": []any{},
	}
	if status, known := redmineName(redmineStatuses, in.Issue.StatusID); known {
		issue.status = status.id
		if status.closed {
			issue.closed = issue.updated
		}
	}
	issue.journals = append(issue.journals, journal)
	w.WriteHeader(http.StatusNoContent)
}
