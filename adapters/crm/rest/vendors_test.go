package rest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
)

// systems returns the ticket systems of the catalogue, as the pages document them that each description names.
func systems() []*system {
	return []*system{
		zammad(), osticket(), servicenow(), glpi(), intercom(), pipedrive(), dynamics365(), gorgias(), zohoDesk(),
		jiraServiceManagement(),
	}
}

func stamp(v any) string { return v.(time.Time).Format(time.RFC3339Nano) }

func plainTime(v any) string { return v.(time.Time).Format(time.DateTime) }

func unix(v any) int64 { return v.(time.Time).Unix() }

func whole(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v))
	return n
}

// touch is a change of a record.
func touch(o object) { o["updated"] = time.Now().UTC() }

// or returns the first value that is not nil.
func or(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// contains reports whether a text has another, whatever their case.
func contains(text any, part string) bool {
	return strings.Contains(strings.ToLower(fmt.Sprint(or(text, ""))), strings.ToLower(part))
}

// showing is a route that shows a record by its id, or answers 404.
func showing(path, kind, query string, missing any, show func(object) any) route {
	return route{method: http.MethodGet, path: path, query: query, do: func(v *vendor, q ask) (int, any) {
		if o := v.one(kind, "id", q.vars["id"]); o != nil {
			return http.StatusOK, show(o)
		}
		return http.StatusNotFound, missing
	}}
}

func zammad() *system {
	states := []string{"new", "open", "pending reminder", "closed", "merged", "solved", "not solved"}
	types := []int{1, 2, 3, 5, 6, 5, 2}
	priorities := []string{"1 low", "2 normal", "3 high"}
	ticket := func(o object) any {
		shown := object{"id": o["id"], "number": o["number"], "title": o["title"], "group_id": 1, "owner_id": o["owner"],
			"customer_id": o["customer"], "state_id": o["state"], "state": states[whole(o["state"])-1],
			"priority_id": o["priority"], "priority": priorities[whole(o["priority"])-1], "close_at": nil,
			"last_close_at": nil, "created_at": stamp(o["created"]), "updated_at": stamp(o["updated"])}
		if o["closed"] != nil {
			shown["close_at"], shown["last_close_at"] = stamp(o["closed"]), stamp(o["last_closed"])
		}
		return shown
	}
	settle := func(o object) { // nothing clears the times (app/models/ticket/sets_close_time.rb)
		if types[whole(o["state"])-1] == 5 {
			o["last_closed"] = o["updated"]
			o["closed"] = or(o["closed"], o["updated"])
		}
	}
	state := func(id int) any {
		return object{"id": id, "name": states[id-1], "state_type_id": types[id-1], "active": true}
	}
	user := func(o object) any {
		return object{"id": o["id"], "firstname": o["name"], "lastname": "", "email": o["email"], "phone": o["phone"],
			"mobile": o["mobile"], "organization_id": o["account_id"], "organization": o["account"]}
	}
	gone := object{"error": "Couldn't find Object", "error_human": "Couldn't find Object"}
	words := func(text string) string { return regexp.MustCompile(`[^0-9]+`).ReplaceAllString(text, " ") }
	return &system{
		name: "zammad", ticketKind: "ticket", settings: object{"group": "Sales", "requester_email": "calls@example.com"},
		credentials: map[string]string{"token": "zammad-secret"}, refusal: reply{status: 401, body: `{"error":"Authentication required"}`},
		seed: func(v *vendor) {
			v.add("user", object{"id": 3, "email": "agent@example.com", "name": "Chris Agent"})
			v.add("user", object{"id": 7, "email": "known@example.com", "name": "Known"})
		},
		routes: []route{
			{method: "GET", path: "/api/v1/users/me", query: "expand", do: func(*vendor, ask) (int, any) {
				return 200, object{"id": 3, "firstname": "Chris", "lastname": "Agent", "email": "agent@example.com",
					"groups": object{"Sales": []string{"full"}}}
			}},
			{method: "GET", path: "/api/v1/users/search", query: "query limit expand", do: func(v *vendor, q ask) (int, any) {
				return 200, shown(v.where("user", func(o object) bool {
					query := q.query.Get("query")
					if strings.HasPrefix(query, "email:") {
						return strings.EqualFold(query, fmt.Sprintf("email:%q", o["email"]))
					}
					for _, has := range []any{o["phone"], o["mobile"]} { // a phrase of a number's parts
						for _, phrase := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(query, -1) {
							if has != nil && has != "" && words(fmt.Sprint(has)) == words(phrase[1]) {
								return true
							}
						}
					}
					return false
				}), user)
			}},
			showing("/api/v1/users/{id}", "user", "expand", gone, user),
			{method: "GET", path: "/api/v1/ticket_states", do: func(*vendor, ask) (int, any) {
				var list []any
				for i := range states {
					list = append(list, state(i+1))
				}
				return 200, list
			}},
			{method: "GET", path: "/api/v1/ticket_priorities", do: func(*vendor, ask) (int, any) {
				var list []any
				for i, p := range priorities {
					list = append(list, object{"id": i + 1, "name": p, "active": true})
				}
				return 200, list
			}},
			{method: "POST", path: "/api/v1/tickets",
				body: "title! group! customer_id! owner_id state_id priority_id article.subject article.body! article.type " +
					"article.sender article.internal article.content_type",
				do: func(v *vendor, q ask) (int, any) {
					customer := q.get("customer_id")
					if email, guess := strings.CutPrefix(fmt.Sprint(customer), "guess:"); guess {
						known := v.one("user", "email", email)
						if known == nil {
							known = v.add("user", object{"id": 100, "email": email})
						}
						customer = known["id"]
					}
					o := v.add("ticket", object{"title": q.get("title"), "customer": customer,
						"owner": or(q.get("owner_id"), 1), "state": or(q.get("state_id"), 1),
						"priority": or(q.get("priority_id"), 2)})
					o["id"], o["number"] = o["n"], fmt.Sprint(22000+o["n"].(int))
					settle(o)
					v.add("article", object{"ticket": o["id"], "body": q.get("article.body"), "internal": false,
						"content_type": q.get("article.content_type")})
					return 201, ticket(o)
				}},
			{method: "GET", path: "/api/v1/tickets/search", query: "query limit expand sort_by order_by",
				do: func(v *vendor, q ask) (int, any) {
					of := regexp.MustCompile(`\Acustomer_id:([0-9]+) AND NOT state_id:\((.*)\)\z`).
						FindStringSubmatch(q.query.Get("query"))
					found := shown(v.where("ticket", func(o object) bool {
						if of != nil {
							without := strings.Split(of[2], " OR ")
							return fmt.Sprint(o["customer"]) == of[1] && !slices.Contains(without, fmt.Sprint(o["state"]))
						}
						text := fmt.Sprint(o["number"], " ", o["title"], " ", v.one("article", "ticket", fmt.Sprint(o["id"]))["body"])
						return slices.ContainsFunc(strings.Fields(text), func(w string) bool {
							return strings.HasPrefix(w, q.query.Get("query"))
						})
					}), ticket)
					return 200, found[:min(len(found), whole(q.query.Get("limit")))]
				}},
			showing("/api/v1/tickets/{id}", "ticket", "expand", gone, ticket),
			{method: "GET", path: "/api/v1/links", query: "link_object link_object_value", rare: true,
				do: func(v *vendor, q ask) (int, any) {
					links := []any{object{"link_type": "normal", "link_object": "Ticket", "link_object_value": 1}}
					if into := v.one("ticket", "id", q.query.Get("link_object_value"))["into"]; into != nil {
						links = append(links,
							object{"link_type": "parent", "link_object": "Ticket", "link_object_value": into})
					}
					return 200, object{"links": links, "assets": object{}}
				}},
			{method: "GET", path: "/api/v1/ticket_articles/by_ticket/{id}", do: func(v *vendor, q ask) (int, any) {
				return 200, shown(v.where("article", func(o object) bool { return fmt.Sprint(o["ticket"]) == q.vars["id"] }),
					func(o object) any {
						return object{"id": o["n"], "body": o["body"], "content_type": o["content_type"], "internal": o["internal"]}
					})
			}},
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			kind := "text/plain"
			if c.HTML {
				kind = "text/html"
			}
			v.add("article", object{"ticket": id, "body": c.Body, "internal": !c.Public, "content_type": kind})
			touch(v.one("ticket", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("ticket", "id", id)
			o["state"] = slices.Index(states, status) + 1
			touch(o)
			settle(o)
		},
		labels: [3]string{"", "closed", "open"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("user", object{"name": c.Name, "email": c.Email, "phone": c.Phone, "mobile": c.Mobile})
			o["id"] = 1000 + o["n"].(int)
			if c.Account != "" {
				o["account"], o["account_id"] = c.Account, 5
			}
			return fmt.Sprint(o["id"])
		},
		harness: crmtest.Harness{
			Account:       crm.Account{Name: "Chris Agent", Email: "agent@example.com"},
			Vocabulary:    crm.Vocabulary{Statuses: []string{"new", "open", "closed", "solved", "not solved"}, Priorities: priorities},
			DefaultStatus: "new", DefaultPriority: "2 normal",
			Known:   crmtest.Related{OwnerID: "3", ContactID: "7"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "1", ContactID: "98"},
		},
	}
}

func osticket() *system {
	return &system{
		name: "osticket", ticketKind: "ticket", settings: object{"requester_email": "calls@example.com", "topic_id": "2"},
		credentials: map[string]string{"token": "osticket-secret"}, refusal: reply{status: 401, body: "Valid API key required"},
		routes: []route{{method: "POST", path: "/api/tickets.json", headers: "X-API-Key",
			body: "source alert autorespond name email subject message ip topicId priorityId",
			do: func(v *vendor, q ask) (int, any) {
				_, words, isData := strings.Cut(q.text("message"), ",")
				if q.text("email") == "" || q.text("subject") == "" || q.text("name") == "" || !isData || words == "" {
					return 400, "Unable to create new ticket :Missing or invalid data - check the errors and try again"
				}
				if strings.Count(q.text("email"), "@") != 1 {
					return 400, "Unable to create new ticket :Email: Invalid email"
				}
				o := v.add("ticket", object{})
				return 201, fmt.Sprint(123000 + o["n"].(int))
			}}},
		harness: crmtest.Harness{
			Account: crm.Account{Name: "osTicket"}, Known: crmtest.Related{ContactID: "pat@example.com"},
			Unknown: crmtest.Related{OwnerID: "1", AccountID: "1", ContactID: "no address"},
		},
	}
}

func servicenow() *system {
	id := func(n any) string { return fmt.Sprintf("%032x", whole(n)) }
	states := []string{"New", "In Progress", "On Hold", "", "", "Resolved", "Closed", "Canceled", "Awaiting Vendor"}
	priorities := []string{"1 - Critical", "2 - High", "3 - Moderate", "4 - Low", "5 - Planning"}
	ticket := func(o object) any {
		shown := object{"sys_id": o["id"], "number": o["number"], "short_description": o["subject"],
			"description": o["description"], "state": o["state"], "priority": o["priority"], "caller_id": o["caller"],
			"assigned_to": o["owner"], "company": o["company"], "correlation_id": o["key"],
			"sys_created_on": plainTime(o["created"]), "sys_updated_on": plainTime(o["updated"]), "resolved_at": "",
			"closed_at": ""}
		if whole(o["state"]) >= 6 {
			shown["resolved_at"] = plainTime(o["updated"])
		}
		if whole(o["state"]) == 7 {
			shown["closed_at"] = plainTime(o["updated"])
		}
		return shown
	}
	displayed := func(o object) any { // with sysparm_display_value=all
		all := object{}
		for name, value := range ticket(o).(object) {
			all[name] = object{"value": value, "display_value": value}
		}
		all["state"].(object)["display_value"] = states[whole(o["state"])-1]
		all["priority"].(object)["display_value"] = priorities[whole(o["priority"])-1]
		return all
	}
	gone := object{"error": object{"message": "No Record found", "detail": "Record doesn't exist or ACL restricts"},
		"status": "failure"}
	short := func(o object) any { return object{"result": object{"sys_id": o["id"]}} }
	return &system{
		name: "servicenow", ticketKind: "incident", settings: object{"assignment_group": "Service Desk"},
		credentials: map[string]string{"username": "frontdesk", "password": "servicenow-secret"},
		refusal:     reply{status: 401, body: `{"error":{"message":"User Not Authenticated","detail":"Required to provide Auth information"},"status":"failure"}`},
		seed: func(v *vendor) {
			v.add("user", object{"id": id(3), "name": "Agent"})
			v.add("user", object{"id": id(7), "name": "Known"})
			v.add("company", object{"id": id(5), "name": "Known & Sons"})
			v.add("group", object{"id": id(6), "name": "Service Desk"})
		},
		routes: []route{
			{method: "GET", path: "/api/now/table/incident",
				query: "sysparm_query sysparm_limit sysparm_fields sysparm_display_value sysparm_exclude_reference_link",
				do: func(v *vendor, q ask) (int, any) {
					query := q.query.Get("sysparm_query")
					show := map[string]func(object) any{"": ticket, "all": displayed}[q.query.Get("sysparm_display_value")]
					found := shown(v.where("incident", func(o object) bool {
						for condition := range strings.SplitSeq(query, "^") {
							field, value, isEqual := strings.Cut(condition, "=")
							switch {
							case strings.HasPrefix(condition, "ORDERBY"), condition == "":
							case condition == "active=true":
								if whole(o["state"]) == 7 {
									return false
								}
							case condition == "stateNOT IN6,7,8":
								if state := whole(o["state"]); state >= 6 && state <= 8 {
									return false
								}
							case !isEqual || fmt.Sprint(ticket(o).(object)[field]) != value:
								return false
							}
						}
						return true
					}), show)
					return 200, object{"result": found[:min(len(found), whole(q.query.Get("sysparm_limit")))]}
				}},
			{method: "POST", path: "/api/now/table/incident", query: "sysparm_fields",
				body: "short_description! description state impact urgency caller_id assigned_to company assignment_group " +
					"contact_type correlation_id correlation_display",
				do: func(v *vendor, q ask) (int, any) {
					// Without sysparm_input_display_value, values are stored as they come: a name would be no reference.
					if group := q.text("assignment_group"); group != "" && v.one("group", "id", group) == nil {
						v.violations = append(v.violations, "an assignment_group that is no sys_id: "+group)
					}
					priority := map[string]string{"11": "1", "12": "2", "22": "3", "23": "4", "33": "5"}[q.text("impact")+
						q.text("urgency")]
					o := v.add("incident", object{"subject": q.get("short_description"), "description": q.text("description"),
						"state": cmp.Or(q.text("state"), "1"), "priority": cmp.Or(priority, "5"), "caller": q.text("caller_id"),
						"owner": q.text("assigned_to"), "company": q.text("company"), "key": q.text("correlation_id")})
					o["id"], o["number"] = id(1000+o["n"].(int)), fmt.Sprintf("INC%07d", 10000+o["n"].(int))
					return 201, object{"result": object{"number": o["number"]}}
				}},
			{method: "GET", path: "/api/now/table/sys_journal_field", query: "sysparm_query sysparm_limit sysparm_fields",
				do: func(v *vendor, q ask) (int, any) {
					found := v.where("journal", func(o object) bool {
						return q.query.Get("sysparm_query") == fmt.Sprintf("element_id=%s^element=%s^ORDERBYDESCsys_created_on",
							o["of"], "comments") && o["element"] == "comments"
					})
					all := shown(found, func(o object) any { return object{"value": o["value"]} })
					return 200, object{"result": all[:min(len(all), 1)]}
				}},
			{method: "GET", path: "/api/now/table/sys_user_group", query: "sysparm_query sysparm_limit sysparm_fields",
				do: func(v *vendor, q ask) (int, any) {
					field, value, _ := strings.Cut(q.query.Get("sysparm_query"), "=")
					return 200, object{"result": shown(v.where("group", func(o object) bool {
						return o[map[string]string{"name": "name", "sys_id": "id"}[field]] == value
					}), func(o object) any { return object{"sys_id": o["id"]} })}
				}},
			showing("/api/now/table/sys_user/{id}", "user", "sysparm_fields", gone, short),
			showing("/api/now/table/core_company/{id}", "company", "sysparm_fields", gone, short),
			{method: "GET", path: "/api/now/table/sys_user",
				query: "sysparm_query sysparm_limit sysparm_fields sysparm_display_value sysparm_exclude_reference_link",
				do: func(v *vendor, q ask) (int, any) {
					query := q.query.Get("sysparm_query")
					email, byEmail := strings.CutPrefix(query, "email=")
					return 200, object{"result": shown(v.where("user", func(o object) bool {
						if byEmail {
							return strings.EqualFold(strings.ReplaceAll(email, "^^", "^"), fmt.Sprint(o["email"]))
						}
						for condition := range strings.SplitSeq(query, "^OR") {
							field, list, _ := strings.Cut(condition, "IN")
							if has := o[field]; has != nil && has != "" && slices.Contains(strings.Split(list, ","), fmt.Sprint(has)) {
								return true
							}
						}
						return false
					}), func(o object) any {
						both := func(value, display any) any {
							return object{"value": or(value, ""), "display_value": or(display, value, "")}
						}
						return object{"sys_id": both(o["id"], nil), "name": both(o["name"], nil), "email": both(o["email"], nil),
							"phone": both(o["phone"], nil), "mobile_phone": both(o["mobile_phone"], nil),
							"home_phone": both(nil, nil), "company": both(o["company"], o["company_name"])}
					})}
				}},
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			value := c.Body
			if c.HTML {
				value = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(value, "[code]$0[/code]"))
			}
			v.add("journal", object{"of": id, "value": value,
				"element": map[bool]string{true: "comments", false: "work_notes"}[c.Public]})
			touch(v.one("incident", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("incident", "id", id)
			o["state"] = fmt.Sprint(slices.Index(states, status) + 1)
			touch(o)
		},
		labels: [3]string{"Resolved", "Closed", "In Progress"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("user", object{"name": c.Name, "email": c.Email, "phone": c.Phone, "mobile_phone": c.Mobile})
			o["id"] = id(2000 + o["n"].(int))
			if c.Account != "" {
				o["company"], o["company_name"] = id(5), c.Account
			}
			return fmt.Sprint(o["id"])
		},
		harness: crmtest.Harness{
			Vocabulary: crm.Vocabulary{Statuses: []string{"New", "In Progress", "On Hold", "Resolved", "Closed", "Canceled"},
				Priorities: []string{"1 - Critical", "2 - High", "3 - Moderate", "4 - Low", "5 - Planning"}},
			DefaultStatus: "New", DefaultPriority: "5 - Planning", Number: "INC0099999",
			Known:   crmtest.Related{OwnerID: id(3), AccountID: id(5), ContactID: id(7)},
			Unknown: crmtest.Related{OwnerID: id(99), AccountID: id(98), ContactID: id(97)},
		},
	}
}

func glpi() *system {
	gone := []string{"ERROR_ITEM_NOT_FOUND", "Item not found"}
	session := "Session-Token App-Token"
	statuses := []string{"New", "Processing (assigned)", "Processing (planned)", "Pending", "Solved", "Closed"}
	ticket := func(o object) any {
		shown := object{"id": o["id"], "name": o["name"], "content": o["content"], "status": o["status"],
			"priority": o["priority"], "date": plainTime(o["created"]), "date_mod": plainTime(o["updated"]),
			"solvedate": nil, "closedate": nil, "is_deleted": 0}
		if o["deleted"] == true {
			shown["is_deleted"] = 1
		}
		if whole(o["status"]) >= 5 {
			shown["solvedate"] = plainTime(o["updated"])
		}
		if whole(o["status"]) == 6 {
			shown["closedate"] = plainTime(o["updated"])
		}
		return shown
	}
	criteria := func(list ...string) (names string) {
		for i := range 3 {
			for _, part := range list {
				names += fmt.Sprintf(" criteria[%d][%s]", i, part)
			}
		}
		for i := range 8 {
			names += fmt.Sprintf(" forcedisplay[%d]", i)
		}
		return names + " sort order range"
	}("link", "field", "searchtype", "value")
	of := func(path string, r route) route {
		r.path, r.method, r.headers = path, cmp.Or(r.method, "GET"), session
		return r
	}
	ranged := func(q ask, list []any) (int, any) {
		_, last, _ := strings.Cut(q.query.Get("range"), "-")
		page := list[:min(len(list), whole(last)+1)]
		found := object{"totalcount": len(list), "count": len(page), "content-range": "0-9/10"}
		if len(page) > 0 {
			found["data"] = page
		}
		if len(page) < len(list) {
			return 206, found
		}
		return 200, found
	}
	return &system{
		name: "glpi", ticketKind: "ticket", settings: object{"entity_id": "0", "category_id": "4"},
		credentials: map[string]string{"token": "glpi-secret", "app_token": "glpi-app-secret"},
		refusal:     reply{status: 401, body: `["ERROR_GLPI_LOGIN_USER_TOKEN","parameter user_token seems invalid"]`},
		seed: func(v *vendor) {
			v.add("user", object{"id": 3, "name": "Agent"})
			v.add("user", object{"id": 7, "name": "Known"})
		},
		routes: []route{
			{method: "GET", path: "/apirest.php/initSession", headers: "Authorization App-Token",
				do: func(*vendor, ask) (int, any) { return 200, object{"session_token": "83af7e620c83a50a18d3eac2f6ed05a3"} }},
			of("/apirest.php/getActiveProfile", route{do: func(*vendor, ask) (int, any) {
				return 200, object{"active_profile": object{"id": 6, "name": "Technician", "ticket": 168967}}
			}}),
			of("/apirest.php/getActiveEntities", route{rare: true, do: func(*vendor, ask) (int, any) {
				return 200, object{"active_entity": object{"id": 0, "active_entity_recursive": true,
					"active_entities": []any{object{"id": 0}, object{"id": 71}}}}
			}}),
			of("/apirest.php/User/{id}", showing("", "user", "", gone, func(o object) any { return object{"id": o["id"]} })),
			of("/apirest.php/Ticket", route{method: "POST",
				body: "input.name! input.content! input.status input.priority input.entities_id input.itilcategories_id " +
					"input.requesttypes_id input._users_id_requester input._users_id_assign",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("ticket", object{"name": q.get("input.name"), "content": q.get("input.content"),
						"status": or(q.get("input.status"), 1), "priority": or(q.get("input.priority"), 3)})
					o["id"] = o["n"]
					for kind, member := range map[int]string{1: "input._users_id_requester", 2: "input._users_id_assign"} {
						if user := q.get(member); user != nil {
							v.add("actor", object{"ticket": o["id"], "type": kind, "users_id": user})
						}
					}
					return 201, object{"id": o["id"], "message": "Item successfully added"}
				}}),
			of("/apirest.php/Ticket/{id}", showing("", "ticket", "", gone, ticket)),
			of("/apirest.php/Ticket/{id}/Ticket_User", route{do: func(v *vendor, q ask) (int, any) {
				return 200, shown(v.where("actor", func(o object) bool { return fmt.Sprint(o["ticket"]) == q.vars["id"] }),
					func(o object) any { return object{"type": o["type"], "users_id": o["users_id"]} })
			}}),
			of("/apirest.php/Ticket/{id}/ITILFollowup", route{query: "sort order range", do: func(v *vendor, q ask) (int, any) {
				return 200, shown(v.where("followup", func(o object) bool { return o["ticket"] == q.vars["id"] }),
					func(o object) any {
						return object{"id": o["n"], "content": o["content"], "is_private": o["private"]}
					})
			}}),
			of("/apirest.php/ITILFollowup", route{query: "searchText[sourceitems_id] sort order range", rare: true,
				do: func(v *vendor, q ask) (int, any) {
					source := strings.Trim(q.query.Get("searchText[sourceitems_id]"), "^$")
					found := v.where("followup", func(o object) bool { return o["source"] == source })
					slices.SortFunc(found, func(a, b object) int { return a["n"].(int) - b["n"].(int) })
					if q.query.Get("order") == "DESC" {
						slices.Reverse(found)
					}
					return 200, shown(found, func(o object) any {
						return object{"itemtype": "Ticket", "items_id": json.Number(o["ticket"].(string))}
					})
				}}),
			of("/apirest.php/search/Ticket", route{query: criteria, do: func(v *vendor, q ask) (int, any) {
				value := q.query.Get("criteria[0][value]")
				found := v.where("ticket", func(o object) bool {
					if q.query.Get("criteria[0][field]") == "21" {
						return contains(o["content"], value)
					}
					return q.query.Get("criteria[1][value]") == "notold" && whole(o["status"]) < 5 &&
						slices.ContainsFunc(v.records["actor"], func(a object) bool {
							return a["ticket"] == o["id"] && a["type"] == 1 && fmt.Sprint(a["users_id"]) == value
						})
				})
				return ranged(q, shown(found, func(o object) any {
					return object{"1": o["name"], "2": o["id"], "3": o["priority"], "12": o["status"], "21": o["content"],
						"15": plainTime(o["created"]), "19": plainTime(o["updated"])}
				}))
			}}),
			of("/apirest.php/search/User", route{query: criteria, do: func(v *vendor, q ask) (int, any) {
				found := v.where("user", func(o object) bool {
					for i := range 3 {
						field := q.query.Get(fmt.Sprintf("criteria[%d][field]", i))
						// The value becomes a pattern of LIKE, of which GLPI escapes the underscore alone
						// (github.com/glpi-project/glpi/issues/19011).
						like := regexp.QuoteMeta(q.query.Get(fmt.Sprintf("criteria[%d][value]", i)))
						pattern := regexp.MustCompile("(?i)" + strings.ReplaceAll(like, "%", ".*"))
						if o[field] != nil && pattern.MatchString(fmt.Sprint(o[field])) {
							return true
						}
					}
					return false
				})
				return ranged(q, shown(found, func(o object) any {
					return object{"1": "login", "2": o["id"], "34": o["name"], "9": "", "5": o["5"], "6": o["6"],
						"10": o["10"], "11": o["11"]}
				}))
			}}),
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			private := 1
			if c.Public {
				private = 0
			}
			v.add("followup", object{"ticket": id, "content": "<p>" + asHTML(c) + "</p>", "private": private})
			touch(v.one("ticket", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("ticket", "id", id)
			o["status"] = slices.Index(statuses, status) + 1
			touch(o)
		},
		labels: [3]string{"Solved", "Closed", "Pending"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("user", object{"name": c.Name, "5": c.Email, "6": c.Phone, "11": c.Mobile, "10": ""})
			o["id"] = 1000 + o["n"].(int)
			return fmt.Sprint(o["id"])
		},
		otherContacts: true, findsPhones: true, // a user belongs to no account
		harness: crmtest.Harness{
			Account: crm.Account{Name: "GLPI, profile Technician"},
			Vocabulary: crm.Vocabulary{Statuses: statuses,
				Priorities: []string{"Very low", "Low", "Medium", "High", "Very high", "Major"}},
			DefaultStatus: "New", DefaultPriority: "Medium", Known: crmtest.Related{OwnerID: "3", ContactID: "7"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "1", ContactID: "98"},
		},
	}
}

func intercom() *system {
	ticket := func(v *vendor, o object) any {
		parts := v.where("part", func(p object) bool { return p["ticket"] == o["id"] })
		return object{"type": "ticket", "id": o["id"], "ticket_id": fmt.Sprint(whole(o["id"]) + 5), "open": o["open"],
			"ticket_attributes": object{"_default_title_": o["title"], "_default_description_": o["description"]},
			"ticket_state":      object{"id": "8481", "category": o["state"], "internal_label": o["label"]},
			"contacts":          object{"type": "contact.list", "contacts": []any{object{"type": "contact", "id": o["contact"]}}},
			"admin_assignee_id": o["owner"], "team_assignee_id": "0",
			"created_at": unix(o["created"]), "updated_at": unix(o["updated"]),
			"ticket_parts": object{"type": "ticket_part.list", "total_count": len(parts),
				"ticket_parts": shown(parts, func(p object) any {
					return object{"type": "ticket_part", "id": fmt.Sprint(p["n"]), "part_type": p["kind"], "body": p["body"],
						"ticket_state": p["state"], "previous_ticket_state": p["was"], "created_at": unix(p["created"]) + int64(p["n"].(int))}
				})}}
	}
	contact := func(o object) any {
		return object{"type": "contact", "id": o["id"], "name": o["name"], "email": o["email"], "phone": o["phone"]}
	}
	gone := object{"type": "error.list", "errors": []any{object{"code": "not_found", "message": "Resource Not Found"}}}
	version := "Intercom-Version"
	with := func(r route) route { r.headers = version; return r }
	return &system{
		name: "intercom", ticketKind: "ticket", settings: object{"ticket_type": "88", "requester_email": "calls@example.com"},
		credentials: map[string]string{"token": "intercom-secret"},
		refusal:     reply{status: 401, body: `{"type":"error.list","errors":[{"code":"unauthorized","message":"Access Token Invalid"}]}`},
		seed: func(v *vendor) {
			v.add("admin", object{"id": "3"})
			v.add("contact", object{"id": "6762f2d81bb69f9f2193bc54", "name": "Known", "email": "known@example.com"})
		},
		routes: []route{
			{method: "GET", path: "/me", headers: version, do: func(*vendor, ask) (int, any) {
				return 200, object{"type": "admin", "id": "3", "email": "admin@example.com", "app": object{"name": "MyApp 1"}}
			}},
			with(showing("/admins/{id}", "admin", "", gone, func(o object) any { return object{"type": "admin", "id": o["id"]} })),
			with(showing("/contacts/{id}", "contact", "", gone, contact)),
			{method: "POST", path: "/contacts/search", headers: version,
				body: "query.field query.operator! query.value query.value.0.field query.value.0.operator query.value.0.value " +
					"pagination.per_page",
				do: func(v *vendor, q ask) (int, any) {
					found := shown(v.where("contact", func(o object) bool {
						if q.text("query.field") == "email" {
							return strings.EqualFold(fmt.Sprint(o["email"]), q.text("query.value"))
						}
						for i := range 15 {
							if value := q.text(fmt.Sprintf("query.value.%d.value", i)); value != "" && value == o["phone"] {
								return true
							}
						}
						return false
					}), contact)
					return 200, object{"type": "list", "total_count": len(found),
						"data": found[:min(len(found), whole(q.get("pagination.per_page")))]}
				}},
			{method: "POST", path: "/tickets", headers: version,
				body: "ticket_type_id! contacts.0.id contacts.0.email assignment.admin_assignee_id " +
					"ticket_attributes._default_title_! ticket_attributes._default_description_",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("ticket", object{"title": q.get("ticket_attributes._default_title_"),
						"description": q.get("ticket_attributes._default_description_"), "state": "submitted", "open": true,
						"label": "Submitted", "owner": or(q.get("assignment.admin_assignee_id"), "0"),
						"contact": or(q.get("contacts.0.id"), "6762f2d81bb69f9f2193bc99")})
					o["id"] = fmt.Sprint(o["n"])
					return 200, ticket(v, o)
				}},
			{method: "GET", path: "/tickets/{id}", headers: version, do: func(v *vendor, q ask) (int, any) {
				if o := v.one("ticket", "id", q.vars["id"]); o != nil {
					return 200, ticket(v, o)
				}
				return 404, gone
			}},
			{method: "POST", path: "/tickets/search", headers: version,
				body: "query.field query.operator! query.value query.value.0.field query.value.0.operator query.value.0.value " +
					"pagination.per_page",
				do: func(v *vendor, q ask) (int, any) {
					found := v.where("ticket", func(o object) bool {
						if q.text("query.field") == "description" {
							return contains(o["description"], q.text("query.value"))
						}
						return o["contact"] == q.text("query.value.0.value") && o["open"] == q.get("query.value.1.value")
					})
					return 200, object{"type": "ticket.list", "total_count": len(found),
						"tickets": shown(found, func(o object) any { return ticket(v, o) })}
				}},
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			v.add("part", object{"ticket": id, "kind": map[bool]string{true: "comment", false: "note"}[c.Public],
				"body": "<p>" + asHTML(c) + "</p>"})
			touch(v.one("ticket", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("ticket", "id", id)
			was := o["state"]
			o["label"], o["state"] = status, map[string]string{"Resolved": "resolved", "In progress": "in_progress"}[status]
			o["open"] = status != "Resolved"
			v.add("part", object{"ticket": id, "kind": "ticket_state_updated_by_admin", "state": o["state"], "was": was})
			touch(o)
		},
		labels: [3]string{"Resolved", "", "In progress"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("contact", object{"name": c.Name, "email": c.Email, "phone": cmp.Or(c.Phone, c.Mobile)})
			o["id"] = fmt.Sprintf("%024x", o["n"])
			return fmt.Sprint(o["id"])
		},
		otherContacts: true, findsPhones: true, // a contact has one number, and its company is asked for apart
		harness: crmtest.Harness{
			Account: crm.Account{Name: "Intercom, MyApp 1", Email: "admin@example.com"}, DefaultStatus: "Submitted",
			Known:   crmtest.Related{OwnerID: "3", ContactID: "6762f2d81bb69f9f2193bc54"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "1", ContactID: "98"},
		},
	}
}

func pipedrive() *system {
	data := func(o any) any { return object{"success": true, "data": o} }
	gone := object{"success": false, "error": "Not found", "code": "ERR_NOT_FOUND"}
	activity := func(o object) any {
		return object{"id": o["id"], "subject": o["subject"], "type": o["type"], "owner_id": o["owner"],
			"note": o["note"], "done": o["done"], "person_id": o["person"], "org_id": o["org"],
			"add_time": stamp(o["created"]), "update_time": stamp(o["updated"]),
			"marked_as_done_time": map[bool]any{true: stamp(o["updated"]), false: nil}[o["done"] == true],
			"is_deleted":          o["deleted"] == true}
	}
	id := func(o object) any { return data(object{"id": o["id"]}) }
	return &system{
		name: "pipedrive", ticketKind: "activity", settings: object{},
		credentials: map[string]string{"token": "pipedrive-secret"},
		refusal:     reply{status: 401, body: `{"success":false,"error":"unauthorized access","errorCode":401}`},
		seed: func(v *vendor) {
			v.add("user", object{"id": 3})
			v.add("person", object{"id": 7, "name": "Known"})
			v.add("organization", object{"id": 5})
		},
		routes: []route{
			{method: "GET", path: "/api/v1/users/me", do: func(*vendor, ask) (int, any) {
				return 200, data(object{"id": 3, "email": "agent@example.com", "company_name": "Acme"})
			}},
			showing("/api/v1/users/{id}", "user", "", gone, id),
			{method: "GET", path: "/api/v1/activityTypes", rare: true, do: func(*vendor, ask) (int, any) {
				return 200, data([]any{object{"id": 1, "name": "Call", "key_string": "call", "active_flag": true},
					object{"id": 9, "name": "Call back", "key_string": "call_back", "active_flag": true},
					object{"id": 10, "name": "Fax", "key_string": "fax", "active_flag": false}})
			}},
			{method: "GET", path: "/api/v2/persons/search", query: "term fields exact_match limit",
				do: func(v *vendor, q ask) (int, any) {
					term := q.query.Get("term")
					found := v.where("person", func(o object) bool {
						if q.query.Get("fields") == "email" {
							return q.query.Get("exact_match") == "true" && strings.EqualFold(fmt.Sprint(o["email"]), term)
						}
						return contains(o["phone"], term) || contains(o["mobile"], term)
					})
					return 200, object{"success": true, "additional_data": object{"next_cursor": nil},
						"data": object{"items": shown(found, func(o object) any {
							phones := []any{}
							for _, p := range []any{o["phone"], o["mobile"]} {
								if p != nil && p != "" {
									phones = append(phones, p)
								}
							}
							return object{"result_score": 0.5, "item": object{"id": o["id"], "name": o["name"], "phones": phones,
								"emails": []any{o["email"]}, "organization": o["organization"]}}
						})}}
				}},
			showing("/api/v2/persons/{id}", "person", "", gone, id),
			showing("/api/v2/organizations/{id}", "organization", "", gone, id),
			{method: "POST", path: "/api/v2/activities",
				body: "subject! type! owner_id org_id done note participants.0.person_id participants.0.primary",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("activity", object{"subject": q.get("subject"), "type": q.get("type"), "note": q.get("note"),
						"owner": or(q.get("owner_id"), 3), "org": q.get("org_id"), "done": or(q.get("done"), false),
						"person": q.get("participants.0.person_id")})
					o["id"] = o["n"]
					return 201, data(activity(o))
				}},
			{method: "GET", path: "/api/v2/activities",
				query: "person_id done updated_since sort_by sort_direction limit",
				do: func(v *vendor, q ask) (int, any) {
					found := shown(v.where("activity", func(o object) bool {
						since, err := time.Parse(time.RFC3339, cmp.Or(q.query.Get("updated_since"), "2001-01-01T00:00:00Z"))
						person := q.query.Get("person_id")
						return err == nil && !o["updated"].(time.Time).Before(since) &&
							(person == "" || fmt.Sprint(o["person"]) == person && q.query.Get("done") == fmt.Sprint(o["done"]))
					}), activity)
					page := found[:min(len(found), whole(q.query.Get("limit")))]
					more := map[bool]any{true: "eyJ", false: nil}[len(page) < len(found)]
					return 200, object{"success": true, "data": page, "additional_data": object{"next_cursor": more}}
				}},
			showing("/api/v2/activities/{id}", "activity", "", gone, func(o object) any { return data(activity(o)) }),
		},
		move: func(v *vendor, id, status string) {
			o := v.one("activity", "id", id)
			o["done"] = status == "Done"
			touch(o)
		},
		labels: [3]string{"", "Done", "To do"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("person", object{"name": c.Name, "email": c.Email, "phone": c.Phone, "mobile": c.Mobile})
			o["id"] = 1000 + o["n"].(int)
			if c.Account != "" {
				o["organization"] = object{"id": 5, "name": c.Account}
			}
			return fmt.Sprint(o["id"])
		},
		harness: crmtest.Harness{
			Account:    crm.Account{Name: "Acme", Email: "agent@example.com"},
			Vocabulary: crm.Vocabulary{Statuses: []string{"To do", "Done"}}, DefaultStatus: "To do",
			Known:   crmtest.Related{OwnerID: "3", AccountID: "5", ContactID: "7"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "98", ContactID: "97"},
		},
	}
}

func dynamics365() *system {
	guid := func(n any) string { return fmt.Sprintf("a0b1c2d3-0000-0000-0000-%012x", whole(n)) }
	reasons := map[int]string{1: "In Progress", 2: "On Hold", 3: "Waiting for Details", 4: "Researching",
		5: "Problem Solved", 2000: "Merged"}
	priorities := map[int]string{1: "High", 2: "Normal", 3: "Low"}
	const formatted, logical = "@OData.Community.Display.V1.FormattedValue", "@Microsoft.Dynamics.CRM.lookuplogicalname"
	ticket := func(o object) any {
		reason := whole(o["reason"])
		return object{"@odata.etag": `W/"1"`, "incidentid": o["id"], "ticketnumber": o["number"], "title": o["title"],
			"description": o["description"], "statecode": map[int]int{5: 1, 2000: 2}[reason], "statuscode": reason,
			"statuscode" + formatted: reasons[reason], "prioritycode": o["priority"],
			"prioritycode" + formatted: priorities[whole(o["priority"])], "createdon": stamp(o["created"]),
			"modifiedon": stamp(o["updated"]), "_ownerid_value": o["owner"], "_customerid_value": o["customer"],
			"_customerid_value" + logical: o["customer_is"], "_primarycontactid_value": o["primary"],
			"_masterid_value": o["master"]}
	}
	gone := object{"error": object{"code": "0x80040217", "message": "Entity 'x' With Id = y Does Not Exist"}}
	row := func(path, kind, member string) route {
		r := showing(path, kind, "$select", gone, func(o object) any { return object{member: o["id"]} })
		do := r.do
		r.do = func(v *vendor, q ask) (int, any) {
			q.vars["id"] = strings.ToLower(q.vars["id"]) // a GUID has no case (OData ABNF, guidValue)
			return do(v, q)
		}
		return r
	}
	linked := func(v *vendor, q ask, member string) any {
		for name, value := range q.body {
			if name != member+"@odata.bind" {
				continue
			}
			parts := regexp.MustCompile(`\A/[a-z]+\(([0-9a-f-]{36})\)\z`).FindStringSubmatch(fmt.Sprint(value))
			if parts == nil {
				v.violations = append(v.violations, fmt.Sprintf("%s is %v", name, value))
				return nil
			}
			return parts[1]
		}
		return nil
	}
	literal := regexp.MustCompile(`\A([a-z0-9]+) eq '((?:[^']|'')*)'\z`)
	return &system{
		name: "dynamics365", ticketKind: "incident",
		settings:    object{"directory": "acme.example", "client_id": "app", "customer_contact": guid(1)},
		credentials: map[string]string{"client_secret": "dynamics-secret"}, refusal: reply{status: 401, body: ``},
		seed: func(v *vendor) {
			v.add("user", object{"id": guid(3)})
			v.add("contact", object{"id": guid(1)})
			v.add("contact", object{"id": guid(7), "account": guid(5)})
			v.add("account", object{"id": guid(5)})
		},
		routes: []route{
			{method: "GET", path: "/api/data/v9.2/WhoAmI", do: func(*vendor, ask) (int, any) {
				return 200, object{"UserId": guid(3), "BusinessUnitId": guid(2), "OrganizationId": guid(9)}
			}},
			{method: "GET", path: "/api/data/v9.2/organizations({id})", query: "$select",
				do: func(*vendor, ask) (int, any) { return 200, object{"name": "acme"} }},
			row("/api/data/v9.2/systemusers({id})", "user", "systemuserid"),
			row("/api/data/v9.2/contacts({id})", "contact", "contactid"),
			row("/api/data/v9.2/accounts({id})", "account", "accountid"),
			{method: "POST", path: "/api/data/v9.2/incidents", query: "$select", headers: "Prefer OData-Version",
				body: "incidentid title! description caseorigincode statuscode prioritycode ownerid@odata.bind " +
					"customerid_contact@odata.bind customerid_account@odata.bind primarycontactid@odata.bind",
				do: func(v *vendor, q ask) (int, any) {
					if v.one("incident", "id", q.text("incidentid")) != nil {
						return 412, object{"error": object{"code": "0x80040237", "message": "A record with matching key values already exists."}}
					}
					if c := v.one("contact", "id", fmt.Sprint(linked(v, q, "primarycontactid"))); c != nil &&
						c["account"] != linked(v, q, "customerid_account") {
						return 400, object{"error": object{"code": "0x80040203", "message": "The specified contact doesn't belong to the " +
							"account selected as the customer. Specify a contact that belongs to the selected account, and then try again."}}
					}
					o := v.add("incident", object{"id": q.text("incidentid"), "title": q.get("title"),
						"description": q.get("description"), "reason": or(q.get("statuscode"), 1),
						"priority": or(q.get("prioritycode"), 2), "owner": or(linked(v, q, "ownerid"), guid(3)),
						"customer": linked(v, q, "customerid_contact"), "customer_is": "contact",
						"primary": linked(v, q, "primarycontactid")})
					if account := linked(v, q, "customerid_account"); account != nil {
						o["customer"], o["customer_is"] = account, "account"
					}
					o["number"] = fmt.Sprintf("CAS-%05d-X1Y2Z3", o["n"])
					return 201, object{"ticketnumber": o["number"]}
				}},
			{method: "GET", path: "/api/data/v9.2/incidents({id})", query: "$select", do: func(v *vendor, q ask) (int, any) {
				if o := v.one("incident", "id", q.vars["id"]); o != nil {
					return 200, object{"ticketnumber": o["number"]}
				}
				return 404, gone
			}},
			{method: "GET", path: "/api/data/v9.2/incidents", query: "$filter $select $top $orderby", headers: "Prefer",
				do: func(v *vendor, q ask) (int, any) {
					filter := q.query.Get("$filter")
					byNumber := literal.FindStringSubmatch(filter)
					id, byID := strings.CutPrefix(filter, "incidentid eq ")
					of := regexp.MustCompile(`\A\(_customerid_value eq ([0-9a-f-]{36}) or _primarycontactid_value eq ([0-9a-f-]{36})\) and statecode eq 0\z`).
						FindStringSubmatch(filter)
					found := shown(v.where("incident", func(o object) bool {
						if byNumber != nil {
							return byNumber[1] == "ticketnumber" && o["number"] == byNumber[2]
						}
						if byID {
							return o["id"] == id
						}
						return of != nil && whole(o["reason"]) < 5 && (o["customer"] == of[1] || o["primary"] == of[2])
					}), ticket)
					return 200, object{"value": found[:min(len(found), whole(q.query.Get("$top")))]}
				}},
			{method: "GET", path: "/api/data/v9.2/contacts", query: "$filter $select $top", headers: "Prefer",
				do: func(v *vendor, q ask) (int, any) {
					filter, activeOnly := strings.CutPrefix(q.query.Get("$filter"), "statecode eq 0 and (")
					return 200, object{"value": shown(v.where("contact", func(o object) bool {
						if activeOnly && o["merged"] == true {
							return false
						}
						for condition := range strings.SplitSeq(strings.TrimSuffix(filter, ")"), " or ") {
							parts := literal.FindStringSubmatch(condition)
							if parts == nil {
								continue
							}
							if has := o[parts[1]]; has != nil && has != "" &&
								strings.EqualFold(fmt.Sprint(has), strings.ReplaceAll(parts[2], "''", "'")) {
								return true
							}
						}
						return false
					}), func(o object) any {
						return object{"contactid": o["id"], "fullname": o["name"], "emailaddress1": o["emailaddress1"],
							"telephone1": o["telephone1"], "mobilephone": o["mobilephone"], "telephone2": nil,
							"_parentcustomerid_value": o["account"], "_parentcustomerid_value" + formatted: o["account_name"]}
					})}
				}},
		},
		move: func(v *vendor, id, status string) {
			o := v.one("incident", "id", id)
			for code, reason := range reasons {
				if reason == status {
					o["reason"] = code
				}
			}
			touch(o)
		},
		labels: [3]string{"Problem Solved", "", "In Progress"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("contact", object{"name": c.Name, "emailaddress1": c.Email, "telephone1": c.Phone, "mobilephone": c.Mobile})
			o["id"] = guid(1000 + o["n"].(int))
			if c.Account != "" {
				o["account"], o["account_name"] = guid(5), c.Account
			}
			return fmt.Sprint(o["id"])
		},
		harness: crmtest.Harness{
			Account: crm.Account{Name: "acme"},
			Vocabulary: crm.Vocabulary{Statuses: []string{"In Progress", "On Hold", "Waiting for Details", "Researching"},
				Priorities: []string{"High", "Normal", "Low"}},
			DefaultStatus: "In Progress", DefaultPriority: "Normal", Number: "CAS-99999-X1Y2Z3",
			Known:   crmtest.Related{OwnerID: guid(3), AccountID: guid(5), ContactID: guid(7)},
			Unknown: crmtest.Related{OwnerID: guid(99), AccountID: guid(98), ContactID: guid(97)},
		},
	}
}

func gorgias() *system {
	ticket := func(v *vendor, o object) any {
		closed := map[bool]any{true: stamp(o["updated"]), false: nil}[o["status"] == "closed"]
		trashed := map[bool]any{true: stamp(o["updated"]), false: nil}[o["deleted"] == true]
		return object{"id": o["id"], "subject": o["subject"], "status": o["status"], "priority": o["priority"],
			"external_id": o["key"], "customer": object{"id": o["customer"]}, "assignee_user": o["owner"],
			"created_datetime": stamp(o["created"]), "updated_datetime": stamp(o["updated"]), "closed_datetime": closed,
			"trashed_datetime": trashed,
			"messages": shown(v.where("message", func(m object) bool { return m["ticket"] == fmt.Sprint(o["id"]) }),
				func(m object) any {
					return object{"id": m["n"], "public": m["public"], "from_agent": m["agent"], "body_text": m["text"],
						"body_html": m["html"]}
				})}
	}
	gone := object{"error": object{"msg": "Ticket with id does not exist."}}
	id := func(o object) any { return object{"id": o["id"]} }
	return &system{
		name: "gorgias", ticketKind: "ticket", settings: object{"requester_email": "calls@example.com"},
		credentials: map[string]string{"username": "agent@example.com", "password": "gorgias-secret"},
		refusal:     reply{status: 401, body: `{"error":{"msg":"Unauthorized"}}`},
		seed: func(v *vendor) {
			v.add("user", object{"id": 3})
			v.add("customer", object{"id": 7, "name": "Known", "email": "known@example.com"})
		},
		routes: []route{
			{method: "GET", path: "/api/account", do: func(*vendor, ask) (int, any) { return 200, object{"domain": "acme"} }},
			showing("/api/users/{id}", "user", "", gone, id),
			showing("/api/customers/{id}", "customer", "", gone, func(o object) any {
				return object{"id": o["id"], "name": o["name"], "email": o["email"], "channels": []any{
					object{"type": "phone", "address": o["phone"]}}}
			}),
			{method: "GET", path: "/api/customers", query: "email channel_type channel_address limit", do: func(v *vendor, q ask) (int, any) {
				return 200, object{"object": "list", "data": shown(v.where("customer", func(o object) bool {
					if q.query.Has("email") {
						return strings.EqualFold(fmt.Sprint(o["email"]), q.query.Get("email"))
					}
					return o["phone"] != nil && o[q.query.Get("channel_type")] == q.query.Get("channel_address")
				}), func(o object) any { // the list tells no channels
					return object{"id": o["id"], "external_id": nil, "active": true, "name": o["name"], "email": o["email"]}
				})}
			}},
			{method: "POST", path: "/api/tickets",
				body: "subject channel! via! from_agent external_id status priority customer.id customer.email assignee_user.id " +
					"messages.0.channel! messages.0.via! messages.0.from_agent messages.0.sender.id messages.0.sender.email " +
					"messages.0.subject messages.0.body_text!",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("ticket", object{"subject": q.get("subject"), "key": q.get("external_id"),
						"status": or(q.get("status"), "open"), "priority": or(q.get("priority"), "normal"),
						"customer": or(q.get("customer.id"), 100), "owner": q.get("assignee_user"),
						"deleted": q.get("subject") == "Deleted by a rule"})
					o["id"] = o["n"]
					v.add("message", object{"ticket": fmt.Sprint(o["id"]), "text": q.get("messages.0.body_text"), "public": true,
						"agent": false})
					return 201, ticket(v, o)
				}},
			{method: "GET", path: "/api/tickets", query: "external_id customer_id order_by trashed limit",
				do: func(v *vendor, q ask) (int, any) {
					found := v.where("ticket", func(o object) bool {
						if q.query.Has("external_id") {
							return o["key"] == q.query.Get("external_id")
						}
						return fmt.Sprint(o["customer"]) == q.query.Get("customer_id") &&
							(q.query.Get("trashed") != "false" || o["deleted"] != true)
					})
					return 200, object{"object": "list", "data": shown(found, func(o object) any { return ticket(v, o) })}
				}},
			{method: "GET", path: "/api/tickets/{id}", do: func(v *vendor, q ask) (int, any) {
				if o := v.one("ticket", "id", q.vars["id"]); o != nil {
					return 200, ticket(v, o)
				}
				return 404, gone
			}},
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			m := object{"ticket": id, "public": c.Public, "agent": true, "text": c.Body}
			if c.HTML {
				m["text"], m["html"] = nil, c.Body
			}
			v.add("message", m)
			touch(v.one("ticket", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("ticket", "id", id)
			o["status"] = strings.ToLower(status)
			touch(o)
		},
		labels: [3]string{"", "Closed", "Open"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			// A channel of the type phone has a number as the telephone network writes it.
			phone := "+1" + regexp.MustCompile(`\D`).ReplaceAllString(c.Phone, "")
			o := v.add("customer", object{"name": c.Name, "email": c.Email, "phone": phone})
			o["id"] = 1000 + o["n"].(int)
			return fmt.Sprint(o["id"])
		},
		otherContacts: true, findsPhones: true,
		harness: crmtest.Harness{
			Account: crm.Account{Name: "Gorgias, acme"}, DefaultStatus: "Open", DefaultPriority: "Normal",
			Vocabulary: crm.Vocabulary{Statuses: []string{"Open", "Closed"},
				Priorities: []string{"Critical", "High", "Normal", "Low"}},
			Known:   crmtest.Related{OwnerID: "3", ContactID: "7"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "1", ContactID: "98"},
		},
	}
}

func zohoDesk() *system {
	ticket := func(o object) any {
		return object{"id": o["id"], "ticketNumber": fmt.Sprint(o["n"]), "subject": o["subject"], "status": o["status"],
			"description": o["description"],
			"statusType":  map[bool]string{true: "Closed", false: "Open"}[o["status"] == "Closed"],
			"priority":    o["priority"], "assigneeId": o["owner"], "contactId": o["contact"], "accountId": nil,
			"createdTime": stamp(o["created"]), "modifiedTime": stamp(o["updated"]),
			"closedTime": map[bool]any{true: stamp(o["updated"]), false: nil}[o["status"] == "Closed"]}
	}
	gone := object{"errorCode": "URL_NOT_FOUND", "message": "The URL you've requested could not be found."}
	list := func(all []any) (int, any) {
		if len(all) == 0 {
			return 204, nil
		}
		return 200, object{"data": all}
	}
	org := func(r route) route { r.headers = "orgId"; return r }
	id := func(o object) any { return object{"id": o["id"]} }
	return &system{
		name: "zoho-desk", ticketKind: "ticket",
		settings: object{"token_url": "https://accounts.zoho.eu/oauth/v2/token", "client_id": "1000.X", "org_id": "641",
			"department_id": "42", "requester_email": "calls@example.com"},
		credentials: map[string]string{"client_secret": "zoho-secret", "refresh_token": "zoho-refresh"},
		refusal:     reply{status: 401, body: `{"errorCode":"INVALID_OAUTH","message":"The OAuth Token you provided is invalid."}`},
		seed: func(v *vendor) {
			v.add("agent", object{"id": "3"})
			v.add("contact", object{"id": "7", "lastName": "Known"})
		},
		routes: []route{
			org(route{method: "GET", path: "/api/v1/departments/{id}", do: func(_ *vendor, q ask) (int, any) {
				return 200, object{"id": q.vars["id"], "name": "Support"}
			}}),
			org(showing("/api/v1/agents/{id}", "agent", "", gone, id)),
			org(route{method: "GET", path: "/api/v1/contacts/search", query: "email phone mobile limit",
				do: func(v *vendor, q ask) (int, any) {
					return list(shown(v.where("contact", func(o object) bool {
						for _, field := range []string{"email", "phone", "mobile"} {
							if value := q.query.Get(field); value != "" {
								end, wild := strings.CutPrefix(value, "*")
								has := strings.ToLower(fmt.Sprint(or(o[field], "")))
								return has == value || wild && len(end) == 4 && strings.HasSuffix(has, end)
							}
						}
						return false
					}), func(o object) any {
						return object{"id": o["id"], "firstName": nil, "lastName": o["lastName"], "email": o["email"],
							"phone": o["phone"], "mobile": o["mobile"], "accountId": o["account_id"], "account": o["account"]}
					}))
				}}),
			org(showing("/api/v1/contacts/{id}", "contact", "", gone, id)),
			org(route{method: "GET", path: "/api/v1/contacts/{id}/tickets", query: "limit sortBy",
				do: func(v *vendor, q ask) (int, any) {
					found := v.where("ticket", func(o object) bool { return o["contact"] == q.vars["id"] })
					if q.query.Get("sortBy") != "-modifiedTime" { // ascending by default
						slices.Reverse(found)
					}
					return list(shown(found[:min(len(found), cmp.Or(whole(q.query.Get("limit")), 25))], ticket))
				}}),
			org(route{method: "POST", path: "/api/v1/tickets",
				body: "subject! departmentId! channel status priority assigneeId contactId contact.lastName contact.email description",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("ticket", object{"subject": q.get("subject"), "description": q.get("description"),
						"status": or(q.get("status"), "Open"), "priority": or(q.get("priority"), "None"),
						"owner": q.get("assigneeId"), "contact": or(q.get("contactId"), "900")})
					o["id"] = fmt.Sprint(168000 + o["n"].(int))
					return 200, ticket(o)
				}}),
			org(route{method: "GET", path: "/api/v1/tickets/search", query: "ticketNumber _all limit",
				do: func(v *vendor, q ask) (int, any) {
					return list(shown(v.where("ticket", func(o object) bool {
						if q.query.Has("ticketNumber") {
							return fmt.Sprint(o["n"]) == q.query.Get("ticketNumber")
						}
						return contains(o["description"], q.query.Get("_all"))
					}), func(o object) any {
						shown := ticket(o).(object)
						delete(shown, "description")
						return shown
					}))
				}}),
			org(showing("/api/v1/tickets/{id}", "ticket", "", gone, ticket)),
			org(route{method: "GET", path: "/api/v1/tickets/{id}/comments", query: "include sortBy limit",
				do: func(v *vendor, q ask) (int, any) {
					return list(shown(v.where("comment", func(o object) bool { return o["ticket"] == q.vars["id"] }),
						func(o object) any {
							shown := object{"id": fmt.Sprint(o["n"]), "content": o["content"], "isPublic": o["public"],
								"contentType": o["type"], "commentedTime": stamp(o["created"])}
							if q.query.Get("include") == "mentions" {
								shown["mention"] = or(o["mention"], []any{})
							}
							return shown
						}))
				}}),
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			v.add("comment", object{"ticket": id, "content": c.Body, "public": c.Public,
				"type": map[bool]string{true: "html", false: "plainText"}[c.HTML]})
			touch(v.one("ticket", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("ticket", "id", id)
			o["status"] = status
			touch(o)
		},
		labels: [3]string{"", "Closed", "Open"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("contact", object{"lastName": c.Name, "email": c.Email, "phone": c.Phone, "mobile": c.Mobile})
			o["id"] = fmt.Sprint(200000 + o["n"].(int))
			if c.Account != "" {
				o["account_id"], o["account"] = "5", object{"accountName": c.Account}
			}
			return fmt.Sprint(o["id"])
		},
		harness: crmtest.Harness{
			Account: crm.Account{Name: "Zoho Desk, Support"}, DefaultStatus: "Open",
			Vocabulary: crm.Vocabulary{Statuses: []string{"Open", "On Hold", "Escalated", "Closed"},
				Priorities: []string{"High", "Medium", "Low"}},
			Known:   crmtest.Related{OwnerID: "3", ContactID: "7"},
			Unknown: crmtest.Related{OwnerID: "99", AccountID: "1", ContactID: "98"},
		},
	}
}

func jiraServiceManagement() *system {
	ticket := func(o object) any {
		fields := object{"summary": o["summary"], "description": o["description"], "status": object{"name": o["status"]},
			"priority": object{"name": o["priority"]}, "assignee": nil, "reporter": object{"accountId": o["reporter"]},
			"created": o["created"].(time.Time).Format("2006-01-02T15:04:05.000-0700"),
			"updated": o["updated"].(time.Time).Format("2006-01-02T15:04:05.000-0700"), "resolutiondate": nil}
		if o["status"] == "Resolved" {
			fields["resolutiondate"] = fields["updated"]
		}
		return object{"id": o["id"], "key": o["key"], "fields": fields}
	}
	priorities := []string{"Highest", "Medium", "Low"}
	gone := object{"errorMessages": []string{"Issue does not exist or you do not have permission to see it."}, "errors": object{}}
	jql := regexp.MustCompile(`\A(reporter =|description ~) ("(?:[^"\\]|\\.)*")( AND statusCategory != Done)? ORDER BY (updated DESC|created ASC)\z`)
	return &system{
		name: "jira-service-management", ticketKind: "issue", settings: object{"service_desk": "5", "request_type": "20"},
		credentials: map[string]string{"username": "agent@example.com", "password": "jira-secret"},
		refusal:     reply{status: 401, body: `{"errorMessage":"The user is not authenticated."}`},
		seed: func(v *vendor) {
			v.add("user", object{"id": "qm:dfcd0bad:5abcf7d0", "name": "Known", "email": "known@example.com"})
		},
		routes: []route{
			{method: "GET", path: "/rest/servicedeskapi/servicedesk/{id}", do: func(*vendor, ask) (int, any) {
				return 200, object{"id": "5", "projectKey": "SD", "projectName": "Support"}
			}},
			{method: "GET", path: "/rest/servicedeskapi/servicedesk/{id}/requesttype/{type}/field",
				do: func(*vendor, ask) (int, any) {
					values := []any{}
					for i, p := range priorities {
						values = append(values, object{"value": fmt.Sprint(i + 1), "label": p, "children": []any{}})
					}
					return 200, object{"canRaiseOnBehalfOf": true, "requestTypeFields": []any{
						object{"fieldId": "summary", "name": "Summary", "required": true, "validValues": []any{}},
						object{"fieldId": "priority", "name": "Priority", "required": false, "validValues": values}}}
				}},
			{method: "GET", path: "/rest/api/2/user", query: "accountId", do: func(v *vendor, q ask) (int, any) {
				if o := v.one("user", "id", q.query.Get("accountId")); o != nil {
					return 200, object{"accountId": o["id"]}
				}
				return 404, gone
			}},
			{method: "POST", path: "/rest/servicedeskapi/request",
				body: "serviceDeskId! requestTypeId! raiseOnBehalfOf requestFieldValues.summary! requestFieldValues.description " +
					"requestFieldValues.priority.id",
				do: func(v *vendor, q ask) (int, any) {
					o := v.add("issue", object{"summary": q.get("requestFieldValues.summary"), "status": "Waiting for support",
						"description": q.get("requestFieldValues.description"), "reporter": or(q.get("raiseOnBehalfOf"), "agent"),
						"priority": priorities[whole(or(q.get("requestFieldValues.priority.id"), "2"))-1]})
					o["id"], o["key"] = fmt.Sprint(10000+o["n"].(int)), fmt.Sprintf("SD-%d", o["n"])
					return 201, object{"issueId": o["id"], "issueKey": o["key"]}
				}},
			{method: "GET", path: "/rest/api/2/issue/{id}", query: "fields expand",
				do: func(v *vendor, q ask) (int, any) {
					for _, member := range []string{"key", "moved"} {
						if o := v.one("issue", member, q.vars["id"]); o != nil {
							shown := ticket(o).(object)
							if strings.Contains(q.query.Get("fields"), "project") {
								kind := or(o["project type"], "service_desk")
								shown["fields"].(object)["project"] = object{"projectTypeKey": kind}
							}
							if q.query.Get("expand") == "renderedFields" {
								shown["renderedFields"] = object{"description": or(o["rendered"], "")}
							}
							return 200, shown
						}
					}
					return 404, gone
				}},
			{method: "GET", path: "/rest/api/2/issue/{id}/comment", query: "orderBy maxResults expand",
				do: func(v *vendor, q ask) (int, any) {
					found := v.where("comment", func(o object) bool { return o["issue"] == q.vars["id"] })
					return 200, object{"comments": shown(found, func(o object) any {
						markup := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(fmt.Sprint(o["html"]), "{panel}")
						comment := object{"body": markup, "jsdPublic": o["public"]}
						if o["visibility"] != nil {
							comment["visibility"] = o["visibility"]
						}
						if q.query.Get("expand") == "renderedBody" {
							comment["renderedBody"] = o["html"]
						}
						return comment
					})}
				}},
			{method: "GET", path: "/rest/api/2/search/jql", query: "jql fields maxResults", do: func(v *vendor, q ask) (int, any) {
				parts := jql.FindStringSubmatch(q.query.Get("jql"))
				if parts == nil {
					return 400, object{"errorMessages": []string{"Error in the JQL Query"}}
				}
				value, _ := strconv.Unquote(parts[2])
				found := shown(v.where("issue", func(o object) bool {
					if parts[1] == "reporter =" {
						return o["reporter"] == value && o["status"] != "Resolved"
					}
					return contains(o["description"], strings.Trim(value, `"`))
				}), ticket)
				return 200, object{"issues": found[:min(len(found), whole(q.query.Get("maxResults")))], "isLast": true}
			}},
			{method: "GET", path: "/rest/servicedeskapi/servicedesk/{id}/customer", query: "query limit",
				headers: "X-ExperimentalApi", do: func(v *vendor, q ask) (int, any) {
					return 200, object{"isLastPage": true, "values": shown(v.where("user", func(o object) bool {
						return contains(o["email"], q.query.Get("query"))
					}), func(o object) any {
						return object{"accountId": o["id"], "displayName": o["name"], "emailAddress": o["email"]}
					})}
				}},
		},
		comment: func(v *vendor, id string, c crmtest.Comment) {
			v.add("comment", object{"issue": id, "html": "<p>" + asHTML(c) + "</p>", "public": c.Public})
			touch(v.one("issue", "id", id))
		},
		move: func(v *vendor, id, status string) {
			o := v.one("issue", "id", id)
			o["status"] = status
			touch(o)
		},
		labels: [3]string{"Resolved", "", "In progress"},
		addContact: func(v *vendor, c crmtest.NewContact) string {
			o := v.add("user", object{"name": c.Name, "email": c.Email})
			o["id"] = fmt.Sprintf("5abcf7d014de4535e1b5%04d", o["n"])
			return fmt.Sprint(o["id"])
		},
		otherContacts: true,
		harness: crmtest.Harness{
			Account:       crm.Account{Name: "Jira Service Management, Support"},
			Vocabulary:    crm.Vocabulary{Priorities: priorities},
			DefaultStatus: "Waiting for support", DefaultPriority: "Medium", Number: "SD-9999",
			Known:   crmtest.Related{ContactID: "qm:dfcd0bad:5abcf7d0"},
			Unknown: crmtest.Related{OwnerID: "1", AccountID: "1", ContactID: "98"},
		},
	}
}
