package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// rtFake imitates Request Tracker 5.0.3 as far as the example needs it, from RT::REST2's documentation
// (docs.bestpractical.com/rt/5.0/RT/REST2.html) and the responses of a running server. It has one queue and
// the user root.
type rtFake struct {
	mu           sync.Mutex
	tickets      []*rtTicket
	transactions []rtTransaction
	users        []rtUserRecord // beside root and Nobody; they may not own tickets
	mayNotCreate bool           // the caller lacks the right CreateTicket
	mayNotAdmin  bool           // the caller lacks the right AdminUsers
}

type rtUserRecord struct {
	Name, EmailAddress, RealName, MobilePhone, WorkPhone, HomePhone, Organization string
}

// shownUser returns the user as a list shows it, with the fields that are requested. Telephone numbers are
// for callers with the right AdminUsers (lib/RT/User.pm, _Value).
func (f *rtFake) shownUser(u rtUserRecord, fields string) map[string]any {
	shown := map[string]any{"id": u.Name, "type": "user", "_url": "http://rt.example/REST/2.0/user/" + u.Name}
	for field := range strings.SplitSeq(fields, ",") {
		if value, known := u.field(field); known && (!f.mayNotAdmin || !strings.HasSuffix(field, "Phone")) {
			shown[field] = value
		}
	}
	return shown
}

func (u rtUserRecord) field(name string) (value string, known bool) {
	value, known = map[string]string{
		"Name": u.Name, "EmailAddress": u.EmailAddress, "RealName": u.RealName, "MobilePhone": u.MobilePhone,
		"WorkPhone": u.WorkPhone, "HomePhone": u.HomePhone, "Organization": u.Organization,
	}[name]
	return value, known
}

type rtTicket struct {
	id                               int
	subject, status, priority, owner string
	requestors                       []string
	refersTo                         []string
	created, updated, resolved       time.Time
}

type rtTransaction struct {
	id, ticket  int
	kind        string
	text, ctype string
}

const (
	rtUser     = "root"
	rtPassword = "password"
)

var (
	rtStatuses = []string{"new", "open", "stalled", "resolved", "rejected", "deleted"}
	rtInitial  = []string{"new", "open", "resolved"}
	rtActive   = []string{"new", "open", "stalled"}
	rtUnquoted = strings.NewReplacer(`\\`, `\`, `\'`, `'`)

	rtNumber = regexp.MustCompile(`\ARequestor\.MobilePhone LIKE '([0-9%]+)'\s+` +
		`OR Requestor\.WorkPhone LIKE '([0-9%]+)'\s+OR Requestor\.HomePhone LIKE '([0-9%]+)'\z`)
	rtRequestor = regexp.MustCompile(`\ARequestor\.Name = '((?:[^'\\]|\\.)*)' AND Status = '__Active__'\z`)

	rtRefers  = regexp.MustCompile(`\ARefersTo = '((?:[^'\\]|\\.)*)'\z`)
	rtHistory = regexp.MustCompile(
		`\AObjectType = 'RT::Ticket' AND ObjectId = ([0-9]+) AND Type = '(Create|Correspond)'\z`)
)

func (f *rtFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if user, password, ok := r.BasicAuth(); !ok || user != rtUser || password != rtPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="example.com"`)
		rtRefuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/REST/2.0/")
	if !ok {
		rtRefuse(w, http.StatusNotFound, "Not Found")
		return
	}
	parts := strings.Split(path, "/")
	switch route := r.Method + " " + parts[0] + strings.Repeat("/*", len(parts)-1); route {
	case "GET rt":
		rtAnswer(w, http.StatusOK, map[string]any{"Version": "5.0.3", "Plugins": []any{}})
	case "GET queue/*":
		links := []any{map[string]any{"ref": "self", "type": "queue", "id": 1,
			"_url": "http://" + r.Host + "/REST/2.0/queue/1"}}
		if !f.mayNotCreate {
			links = append(links, map[string]any{
				"ref": "create", "type": "ticket", "_url": "http://" + r.Host + "/REST/2.0/ticket?Queue=1",
			})
		}
		rtKnown(w, parts[1] == "General" || parts[1] == "1", map[string]any{
			"id": 1, "Name": "General", "Lifecycle": "default", "_hyperlinks": links,
		})
	case "GET user/*":
		name := strings.ReplaceAll(parts[1], "%20", " ")
		user, known := f.user(func(u rtUserRecord) bool {
			return strings.EqualFold(u.Name, name) || u.Name == rtUser && name == "14"
		})
		rtKnown(w, known, map[string]any{"Name": user.Name, "EmailAddress": user.EmailAddress, "Privileged": 1})
	case "POST user":
		var in struct {
			rtUserRecord
			Privileged int
		}
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name == "" {
			rtRefuse(w, http.StatusBadRequest, "JSON object must be a user")
			return
		}
		f.users = append(f.users, in.rtUserRecord)
		rtAnswer(w, http.StatusCreated, map[string]any{"id": in.Name, "type": "user"})
	case "GET users":
		f.searchUsers(w, r)
	case "POST ticket":
		f.create(w, r)
	case "GET ticket/*":
		if t := f.ticket(parts[1]); t != nil {
			rtAnswer(w, http.StatusOK, t.shown())
			return
		}
		rtRefuse(w, http.StatusNotFound, "Not Found")
	case "PUT ticket/*":
		f.move(w, r, f.ticket(parts[1]))
	case "POST ticket/*/*":
		f.write(w, r, f.ticket(parts[1]), parts[2])
	case "GET tickets":
		f.search(w, r)
	case "GET transactions":
		f.history(w, r)
	case "GET transaction/*/*":
		f.attachments(w, parts[1])
	default:
		rtRefuse(w, http.StatusNotFound, "Not Found")
	}
}

func (f *rtFake) user(is func(rtUserRecord) bool) (rtUserRecord, bool) {
	for _, u := range f.everybody() {
		if is(u) {
			return u, true
		}
	}
	return rtUserRecord{}, false
}

func (f *rtFake) everybody() []rtUserRecord {
	return append([]rtUserRecord{{Name: rtUser, EmailAddress: "root@localhost"}, {Name: "Nobody"}}, f.users...)
}

// searchUsers supports conditions that all must hold. As RT does, it ignores a condition on a field that
// cannot be searched, such as a telephone number (lib/RT/REST2/Resource/Users.pm, searchable_fields, and
// lib/RT/User.pm, the public fields).
func (f *rtFake) searchUsers(w http.ResponseWriter, r *http.Request) {
	var query []struct{ Field, Value string }
	if json.Unmarshal([]byte(r.URL.Query().Get("query")), &query) != nil {
		rtRefuse(w, http.StatusBadRequest, "The query must be JSON")
		return
	}
	items := []any{}
	for _, u := range f.everybody() {
		fits := true
		for _, limit := range query {
			if value, known := u.field(limit.Field); known && !strings.HasSuffix(limit.Field, "Phone") {
				fits = fits && strings.EqualFold(value, limit.Value)
			}
		}
		if fits {
			items = append(items, f.shownUser(u, r.URL.Query().Get("fields")))
		}
	}
	rtPage(w, r, items)
}

func rtKnown(w http.ResponseWriter, known bool, v any) {
	if !known {
		rtRefuse(w, http.StatusNotFound, "Not Found")
		return
	}
	rtAnswer(w, http.StatusOK, v)
}

func rtAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func rtRefuse(w http.ResponseWriter, status int, message string) {
	rtAnswer(w, status, map[string]any{"message": message})
}

// ticket finds a ticket as RT does: it ignores leading zeros.
func (f *rtFake) ticket(id string) *rtTicket {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > len(f.tickets) {
		return nil
	}
	return f.tickets[n-1]
}

func (f *rtFake) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Queue, Subject, Content, ContentType, Status, Owner, Requestor string
		Priority                                                       *int
		RefersTo                                                       []string
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || r.Header.Get("Content-Type") != "application/json" {
		rtRefuse(w, http.StatusBadRequest, fmt.Sprintf("JSON object must be a ticket: %v", err))
		return
	}
	if in.Queue != "General" || f.mayNotCreate {
		rtRefuse(w, http.StatusForbidden, "No permission to create tickets in the queue '"+in.Queue+"'")
		return
	}
	if in.Status == "" {
		in.Status = "new"
	}
	if !slices.Contains(rtStatuses, in.Status) {
		rtRefuse(w, http.StatusBadRequest, "Status '"+in.Status+"' isn't a valid status for tickets in this queue.")
		return
	}
	if !slices.Contains(rtInitial, in.Status) {
		rtRefuse(w, http.StatusBadRequest, "New tickets can not have status '"+in.Status+"' in this queue.")
		return
	}
	now := time.Now().UTC().Truncate(time.Second)
	t := &rtTicket{
		id: len(f.tickets) + 1, subject: in.Subject, status: in.Status, priority: "0", owner: "Nobody",
		refersTo: in.RefersTo, created: now, resolved: time.Unix(0, 0).UTC(),
	}
	if in.Priority != nil {
		t.priority = strconv.Itoa(*in.Priority)
	}
	if strings.EqualFold(in.Owner, rtUser) || in.Owner == "14" {
		t.owner = rtUser // an unknown user, or one who may not own tickets, silently becomes Nobody
	}
	requestor, known := f.user(func(u rtUserRecord) bool {
		return in.Requestor == u.Name || in.Requestor == u.EmailAddress
	})
	switch {
	case known:
		t.requestors = []string{requestor.Name}
	case strings.Contains(in.Requestor, "@"):
		// RT creates a user of that name. It silently drops a value that is not an address.
		t.requestors = []string{in.Requestor}
	}
	f.tickets = append(f.tickets, t)
	t.set(in.Status, now)
	f.note(t, "Create", in.Content, in.ContentType)
	rtAnswer(w, http.StatusCreated, map[string]any{
		"id": strconv.Itoa(t.id), "type": "ticket",
		"_url": "http://" + r.Host + "/REST/2.0/ticket/" + strconv.Itoa(t.id),
	})
}

// set sets the status. When a ticket is opened again, it keeps the time of resolution.
func (t *rtTicket) set(status string, now time.Time) {
	t.status, t.updated = status, now
	if status == "resolved" || status == "rejected" || status == "deleted" {
		t.resolved = now
	}
}

func (f *rtFake) note(t *rtTicket, kind, text, ctype string) {
	f.transactions = append(f.transactions, rtTransaction{len(f.transactions) + 30, t.id, kind, text, ctype})
	t.updated = time.Now().UTC().Truncate(time.Second)
}

func (t *rtTicket) shown() map[string]any {
	requestors := []any{}
	for _, address := range t.requestors {
		requestors = append(requestors, map[string]any{"id": address, "type": "user"})
	}
	return map[string]any{
		"id": t.id, "Type": "ticket", "Subject": t.subject, "Status": t.status, "Priority": t.priority,
		"Queue": map[string]any{"id": "1", "type": "queue"}, "Owner": map[string]any{"id": t.owner, "type": "user"},
		"Requestor": requestors, "Created": t.created.Format(time.RFC3339),
		"LastUpdated": t.updated.Format(time.RFC3339), "Resolved": t.resolved.Format(time.RFC3339),
		"Due": "1970-01-01T00:00:00Z",
	}
}

func (f *rtFake) move(w http.ResponseWriter, r *http.Request, t *rtTicket) {
	var in struct{ Status string }
	if t == nil || json.NewDecoder(r.Body).Decode(&in) != nil || !slices.Contains(rtStatuses, in.Status) {
		rtRefuse(w, http.StatusBadRequest, "Status '"+in.Status+"' isn't a valid status for tickets in this queue.")
		return
	}
	t.set(in.Status, time.Now().UTC().Truncate(time.Second))
	rtAnswer(w, http.StatusOK, []string{"Status changed"})
}

// write adds a reply or a remark. The first reply opens a new ticket.
func (f *rtFake) write(w http.ResponseWriter, r *http.Request, t *rtTicket, how string) {
	var in struct{ Content, ContentType string }
	kind, ok := map[string]string{"correspond": "Correspond", "comment": "Comment"}[how]
	if t == nil || !ok || json.NewDecoder(r.Body).Decode(&in) != nil || in.ContentType == "" {
		rtRefuse(w, http.StatusBadRequest, "Content and ContentType are required")
		return
	}
	f.note(t, kind, in.Content, in.ContentType)
	if kind == "Correspond" && t.status == "new" {
		t.status = "open"
	}
	rtAnswer(w, http.StatusCreated, []string{"Correspondence added"})
}

// search supports the conditions on links, on a requestor's active tickets, on requestors' numbers and on
// every ticket, in TicketSQL.
func (f *rtFake) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("query")
	link, requestor := rtRefers.FindStringSubmatch(query), rtRequestor.FindStringSubmatch(query)
	number := rtNumber.FindStringSubmatch(query)
	if link == nil && requestor == nil && number == nil && query != "id > 0" {
		rtRefuse(w, http.StatusBadRequest,
			"Wrong query, expecting a KEYWORD in '"+query+"' at /usr/share/request-tracker5/lib/RT/SQL.pm line 170.")
		return
	}
	items := []any{}
	tickets := slices.Clone(f.tickets)
	if r.URL.Query().Get("orderby") == "LastUpdated" {
		slices.SortStableFunc(tickets, func(a, b *rtTicket) int { return a.updated.Compare(b.updated) })
	}
	if r.URL.Query().Get("order") == "DESC" {
		slices.Reverse(tickets)
	}
	for _, t := range tickets {
		if link != nil && !slices.Contains(t.refersTo, link[1]) || requestor != nil &&
			(!slices.Contains(t.requestors, rtUnquoted.Replace(requestor[1])) ||
				!slices.Contains(rtActive, t.status)) ||
			number != nil && !slices.ContainsFunc(f.requestors(t), func(u rtUserRecord) bool {
				return u.like(number)
			}) {
			continue
		}
		item := map[string]any{
			"id": strconv.Itoa(t.id), "type": "ticket", "_url": "http://rt.example/REST/2.0/ticket/" +
				strconv.Itoa(t.id),
		}
		for field := range strings.SplitSeq(r.URL.Query().Get("fields"), ",") {
			if value := t.shown()[field]; value != nil {
				item[field] = value
			}
		}
		if inner := r.URL.Query().Get("fields[Requestor]"); inner != "" && item["Requestor"] != nil {
			var users []any
			for _, u := range f.requestors(t) {
				users = append(users, f.shownUser(u, inner))
			}
			item["Requestor"] = users
		}
		items = append(items, item)
	}
	rtPage(w, r, items)
}

func (f *rtFake) requestors(t *rtTicket) []rtUserRecord {
	var users []rtUserRecord
	for _, name := range t.requestors {
		user, known := f.user(func(u rtUserRecord) bool { return u.Name == name })
		if !known {
			user = rtUserRecord{Name: name, EmailAddress: name}
		}
		users = append(users, user)
	}
	return users
}

// like reports whether one of the numbers of a user fits its pattern. The operator LIKE surrounds the pattern
// with "%", which stands for any text.
func (u rtUserRecord) like(patterns []string) bool {
	for i, value := range []string{u.MobilePhone, u.WorkPhone, u.HomePhone} {
		pattern := ".*" + strings.ReplaceAll(regexp.QuoteMeta(patterns[i+1]), "%", ".*") + ".*"
		if value != "" && regexp.MustCompile(pattern).MatchString(value) {
			return true
		}
	}
	return false
}

func rtPage(w http.ResponseWriter, r *http.Request, items []any) {
	size := 20
	if given := r.URL.Query().Get("per_page"); given != "" {
		size, _ = strconv.Atoi(given)
	}
	total := len(items)
	items = items[:min(size, total)]
	rtAnswer(w, http.StatusOK, map[string]any{
		"count": len(items), "page": 1, "pages": 1, "per_page": size, "total": total, "items": items,
	})
}

func (f *rtFake) history(w http.ResponseWriter, r *http.Request) {
	asked := rtHistory.FindStringSubmatch(r.URL.Query().Get("query"))
	if asked == nil {
		rtRefuse(w, http.StatusBadRequest, "Wrong query at /usr/share/request-tracker5/lib/RT/SQL.pm line 170.")
		return
	}
	items := []any{}
	for _, x := range f.transactions {
		if strconv.Itoa(x.ticket) == asked[1] && x.kind == asked[2] {
			items = append(items, map[string]any{
				"id": strconv.Itoa(x.id), "type": "transaction",
				"_url": "http://rt.example/REST/2.0/transaction/" + strconv.Itoa(x.id),
			})
		}
	}
	if r.URL.Query().Get("order") == "DESC" {
		slices.Reverse(items)
	}
	rtPage(w, r, items)
}

func (f *rtFake) attachments(w http.ResponseWriter, id string) {
	items := []any{}
	for _, x := range f.transactions {
		if strconv.Itoa(x.id) == id && x.text != "" {
			items = append(items, map[string]any{
				"id": "5", "type": "attachment", "_url": "http://rt.example/REST/2.0/attachment/5",
				"ContentType": x.ctype, "Content": x.text,
			})
		}
	}
	rtAnswer(w, http.StatusOK, map[string]any{
		"count": len(items), "page": 1, "pages": 1, "per_page": 20, "total": len(items), "items": items,
	})
}
