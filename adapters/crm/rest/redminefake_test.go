package rest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redmineFake imitates Redmine 5 as far as the example goes, from its documentation
// (redmine.org/projects/redmine/wiki/Rest_api, Rest_Issues, Rest_IssueStatuses and Rest_Enumerations) and,
// for what it silently drops, from its source: Issue#safe_attributes=, Issue#new_statuses_allowed_to
// and Issue#validate_required_fields (app/models/issue.rb), IssuesController#create, Query#add_short_filter.
// One project, support, and one user, 5, whose language is English.
type redmineFake struct {
	mu     sync.Mutex
	issues []*redmineIssue

	mayNotAdd bool   // the user lacks the permission to add issues
	language  string // of the user; "" is English
	workflow  []int  // the statuses that a new issue can have; nil: all
	// Fields that the workflow or the tracker does not let the user set, such as assigned_to_id.
	readOnly []string
	fields   map[int]string // the custom fields of the project and its tracker
	required []int          // of them
}

type redmineIssue struct {
	id                                 int
	subject, description               string
	status, priority, assigned, author int
	created, updated, closed           time.Time
	custom                             map[int]string
	journals                           []map[string]any
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

// status returns the id of a status.
func (f *redmineFake) status(name string) int {
	return redmineStatuses[slices.IndexFunc(redmineStatuses,
		func(w redmineWord) bool { return w.name == name })].id
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
		redmineAnswer(w, http.StatusOK,
			map[string]any{"user": map[string]any{
				"id": 5, "login": "alice", "firstname": "Alice", "lastname": "Desk", "mail": "alice@example.com",
			}})
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
	case r.Method == http.MethodPost && r.URL.Path == "/projects/support/issues.json":
		f.create(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/projects/support/issues.json":
		f.list(w, r.URL.Query())
	case isIssue && f.issue(number) == nil:
		w.WriteHeader(http.StatusNotFound) // with no body
	case isIssue && r.Method == http.MethodGet:
		issue := f.issue(number)
		shown := f.shown(issue)
		if r.URL.Query().Get("include") == "journals" {
			shown["journals"] = issue.journals
		}
		redmineAnswer(w, http.StatusOK, map[string]any{"issue": shown})
	case isIssue && r.Method == http.MethodPut:
		f.change(w, r, f.issue(number))
	default: // another project, too
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

// list supports the filters of the example. As in Redmine, it ignores others, lists open issues unless
// status_id says otherwise, and compares text without regard to case for "~".
func (f *redmineFake) list(w http.ResponseWriter, q url.Values) {
	var found []*redmineIssue
	for _, issue := range f.issues {
		status, _ := redmineName(redmineStatuses, issue.status)
		words, contains := strings.CutPrefix(q.Get("description"), "~")
		switch {
		case q.Get("status_id") != "*" && status.closed,
			contains && !strings.Contains(strings.ToLower(issue.description), strings.ToLower(words)),
			q.Get("author_id") == "me" && issue.author != 5,
			f.filtered(issue, q):
			continue
		}
		found = append(found, issue)
	}
	column, order, _ := strings.Cut(cmp.Or(q.Get("sort"), "id:desc"), ":")
	if column == "id" && order == "desc" {
		slices.Reverse(found)
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		limit = 25
	}
	page := []any{}
	for _, issue := range found[:min(limit, 100, len(found))] {
		page = append(page, f.shown(issue))
	}
	redmineAnswer(w, http.StatusOK, map[string]any{
		"issues": page, "total_count": len(found), "offset": 0, "limit": limit,
	})
}

// filtered reports whether a filter on a custom field excludes an issue.
func (f *redmineFake) filtered(issue *redmineIssue, q url.Values) bool {
	for id := range f.fields {
		if value, is := strings.CutPrefix(q.Get(fmt.Sprintf("cf_%d", id)), "="); is && issue.custom[id] != value {
			return true
		}
	}
	return false
}

type redmineNew struct {
	Subject     string  `json:"subject"`
	Description string  `json:"description"`
	StatusID    int     `json:"status_id"`
	PriorityID  int     `json:"priority_id"`
	AssignedTo  *string `json:"assigned_to_id"`
	Custom      []struct {
		ID    int    `json:"id"`
		Value string `json:"value"`
	} `json:"custom_fields"`
}

func (f *redmineFake) create(w http.ResponseWriter, r *http.Request) {
	if f.mayNotAdd {
		w.WriteHeader(http.StatusForbidden) // with no body
		return
	}
	var in struct {
		Issue redmineNew `json:"issue"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || r.Header.Get("Content-Type") != "application/json" {
		redmineRefuse(w, fmt.Sprintf("Request cannot be read: %v", err))
		return
	}
	issue, errors := f.build(in.Issue)
	if len(errors) > 0 {
		if f.language != "" {
			errors = []string{"Thema muss ausgefüllt werden"}
		}
		redmineRefuse(w, errors...)
		return
	}
	if status, _ := redmineName(redmineStatuses, issue.status); status.closed {
		issue.closed = issue.created
	}
	f.issues = append(f.issues, issue)
	redmineAnswer(w, http.StatusCreated, map[string]any{"issue": f.shown(issue)})
}

// build creates an issue. It drops what the user may not set and returns an error for each invalid value.
func (f *redmineFake) build(in redmineNew) (*redmineIssue, []string) {
	var errors []string
	now := time.Now().UTC().Truncate(time.Second)
	issue := &redmineIssue{
		id: len(f.issues) + 1, subject: in.Subject, status: 1, priority: 2, author: 5, created: now, updated: now,
		custom: map[int]string{}, journals: []map[string]any{},
	}
	kept := func(field string) bool { return !slices.Contains(f.readOnly, field) }
	if _, known := redmineName(redmineStatuses, in.StatusID); known && kept("status_id") &&
		(f.workflow == nil || slices.Contains(f.workflow, in.StatusID)) {
		issue.status = in.StatusID
	}
	if kept("description") {
		issue.description = in.Description
	}
	if in.PriorityID != 0 && kept("priority_id") {
		issue.priority = in.PriorityID
	}
	if in.AssignedTo != nil && kept("assigned_to_id") {
		if *in.AssignedTo != "5" { // not a member of the project who can have issues
			errors = append(errors, "Assignee is invalid")
		}
		issue.assigned = 5
	}
	for _, c := range in.Custom {
		if _, there := f.fields[c.ID]; there && kept(fmt.Sprint(c.ID)) {
			issue.custom[c.ID] = c.Value
		}
	}
	if issue.subject == "" {
		errors = append(errors, "Subject cannot be blank")
	}
	if len(issue.subject) > 255 {
		errors = append(errors, "Subject is too long (maximum is 255 characters)")
	}
	if _, known := redmineName(redminePriorities, issue.priority); !known {
		errors = append(errors, "Priority cannot be blank")
	}
	for _, id := range f.required {
		if issue.custom[id] == "" {
			errors = append(errors, f.fields[id]+" cannot be blank")
		}
	}
	return issue, errors
}

func (f *redmineFake) shown(i *redmineIssue) map[string]any {
	status, _ := redmineName(redmineStatuses, i.status)
	priority, _ := redmineName(redminePriorities, i.priority)
	shown := map[string]any{
		"id": i.id, "project": map[string]any{"id": 1, "name": "Support"},
		"status":   map[string]any{"id": status.id, "name": status.name},
		"priority": map[string]any{"id": priority.id, "name": priority.name},
		"author":   map[string]any{"id": i.author, "name": "Alice Desk"}, "subject": i.subject,
		"description": i.description, "created_on": i.created.Format(time.RFC3339),
		"updated_on": i.updated.Format(time.RFC3339), "closed_on": nil,
	}
	if !i.closed.IsZero() {
		shown["closed_on"] = i.closed.Format(time.RFC3339)
	}
	if len(f.fields) > 0 {
		custom := []any{}
		for id, name := range f.fields {
			custom = append(custom, map[string]any{"id": id, "name": name, "value": i.custom[id]})
		}
		shown["custom_fields"] = custom
	}
	if i.assigned != 0 {
		shown["assigned_to"] = map[string]any{"id": i.assigned, "name": "Alice Desk"}
	}
	return shown
}

// change changes an issue. When an issue is opened again, it keeps the time of closing.
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
		"id": len(issue.journals) + 1, "user": map[string]any{"id": 5, "name": "Alice Desk"},
		"notes": in.Issue.Notes, "private_notes": in.Issue.Private,
		"created_on": issue.updated.Format(time.RFC3339), "details": []any{},
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
