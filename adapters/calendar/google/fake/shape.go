package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/mail"
	"strings"
)

// Shapes of properties. A shape is the name of a simple type, an object, a list, or texts with any names.
type (
	object map[string]any
	list   struct{ of any }
	texts  struct{}
)

const (
	text     = "a text"
	number   = "a number"
	boolean  = "true or false"
	whatever = "anything"
)

var timeShape = object{"date": text, "dateTime": text, "timeZone": text}

// eventShape is the Event resource
// (developers.google.com/workspace/calendar/api/v3/reference/events#resource). Properties that the adapter
// never writes are not checked.
var eventShape = object{
	"id": text, "summary": text, "description": text, "location": text, "status": text, "transparency": text,
	"visibility": text,
	"colorId":    text, "eventType": text, "iCalUID": text, "etag": text, "kind": text, "htmlLink": text,
	"hangoutLink": text, "created": text,
	"updated": text, "recurringEventId": text, "sequence": number,
	"start": timeShape, "end": timeShape, "originalStartTime": timeShape, "recurrence": list{text},
	"attendeesOmitted": boolean, "guestsCanModify": boolean, "guestsCanInviteOthers": boolean,
	"guestsCanSeeOtherGuests": boolean,
	"attendees": list{object{
		"email": text, "displayName": text, "id": text, "comment": text, "responseStatus": text,
		"additionalGuests": number, "optional": boolean, "resource": boolean, "organizer": boolean, "self": boolean,
	}},
	"organizer":          object{"email": text, "displayName": text, "id": text, "self": boolean},
	"creator":            object{"email": text, "displayName": text, "id": text, "self": boolean},
	"extendedProperties": object{"private": texts{}, "shared": texts{}},
	"conferenceData": object{
		"createRequest": object{
			"requestId": text, "conferenceSolutionKey": object{"type": text}, "status": object{"statusCode": text},
		},
		"entryPoints": list{object{"entryPointType": text, "uri": text, "label": text}}, "conferenceId": text,
		"conferenceSolution": object{"key": object{"type": text}, "name": text}, "signature": text, "notes": text,
	},
	"reminders": whatever, "source": whatever, "attachments": whatever, "gadget": whatever,
}

// readEvent decodes the body of a request strictly.
func (c call) readEvent() (map[string]any, *refusal) {
	if !strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/json") {
		return nil, badRequest("The body must be JSON.")
	}
	body, err := io.ReadAll(c.request.Body)
	var read map[string]any
	if err != nil || json.Unmarshal(body, &read) != nil || read == nil {
		return nil, &refusal{code: 400, domain: "global", reason: "parseError", message: "Parse Error"}
	}
	if wrong := misfit("", read, eventShape); wrong != "" {
		return nil, badRequest("Invalid JSON payload received. " + wrong)
	}
	for _, guest := range attendeesOf(read) {
		email := textOf(guest, "email")
		if email == "" {
			return nil, required("Missing attendee email.") // kewisch/gdata-provider#82
		}
		if parsed, err := mail.ParseAddress(email); err != nil || parsed.Address != email {
			return nil, invalid("Invalid attendee email.")
		}
	}
	return read, nil
}

// misfit returns how a value does not fit its shape, or "" if it does. Null stands for a value that is left
// out.
func misfit(at string, value, shape any) string {
	if value == nil || shape == whatever {
		return ""
	}
	fits := true
	switch shape := shape.(type) {
	case object:
		return misfitOf(at, value, func(name string) (any, bool) { s, known := shape[name]; return s, known })
	case texts:
		return misfitOf(at, value, func(string) (any, bool) { return text, true })
	case list:
		items, is := value.([]any)
		for i, item := range items {
			if wrong := misfit(fmt.Sprintf("%s[%d]", at, i), item, shape.of); wrong != "" {
				return wrong
			}
		}
		fits = is
	case string:
		switch value.(type) {
		case string:
			fits = shape == text
		case float64:
			fits = shape == number
		case bool:
			fits = shape == boolean
		default:
			fits = false
		}
	}
	if !fits {
		return fmt.Sprintf("Invalid value at '%s'", at)
	}
	return ""
}

func misfitOf(at string, value any, shapeOf func(name string) (any, bool)) string {
	members, is := value.(map[string]any)
	if !is {
		return fmt.Sprintf("Invalid value at '%s'", at)
	}
	for name, member := range members {
		shape, known := shapeOf(name)
		if !known {
			return fmt.Sprintf("Unknown name \"%s\" at '%s': Cannot find field.", name, at)
		}
		if wrong := misfit(strings.TrimPrefix(at+"."+name, "."), member, shape); wrong != "" {
			return wrong
		}
	}
	return ""
}

// merge patches an object: it replaces named values, patches objects in turn, replaces lists as a whole, and
// removes values that are null (developers.google.com/workspace/calendar/api/guides/performance#patch).
func merge(into, patch map[string]any) {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		old, wasObject := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			merge(old, inner)
		case isObject:
			fresh := map[string]any{}
			merge(fresh, inner)
			into[name] = fresh
		default:
			into[name] = value
		}
	}
}

// copied returns a deep copy of a JSON value.
func copied[T any](value T) T {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // it came from JSON
	}
	var fresh T
	if err := json.Unmarshal(encoded, &fresh); err != nil {
		panic(err)
	}
	return fresh
}

func textOf(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

func objectOf(o map[string]any, name string) map[string]any {
	inner, _ := o[name].(map[string]any)
	return inner
}

func attendeesOf(data map[string]any) (all []map[string]any) {
	items, _ := data["attendees"].([]any)
	for _, item := range items {
		if inner, is := item.(map[string]any); is {
			all = append(all, inner)
		}
	}
	return all
}
