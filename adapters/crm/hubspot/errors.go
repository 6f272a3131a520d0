package hubspot

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// statusMigrating is HubSpot's own status for an account that moves to another data centre, for up to a day
// (developers.hubspot.com/docs/api-reference/error-handling).
const statusMigrating = 477

// refusal converts an error response into a fault. Most faults follow from the status alone. A request to a
// locked record, or to an account that is being moved, has certainly done nothing.
func (d *driver) refusal(status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	var answer apiError
	if json.Unmarshal(body, &answer) != nil {
		answer = apiError{} // such as a proxy's page
	}
	switch status {
	case http.StatusBadRequest, http.StatusConflict:
		return d.notValid(plain, answer)
	case http.StatusForbidden:
		return notAllowed(plain, answer)
	case http.StatusNotFound:
		return d.notThere(plain, answer)
	case http.StatusGone: // a record that is gone is a 404
		return noAPI(plain)
	case http.StatusLocked:
		f := plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"HubSpot is still busy with an earlier change of the record. Try again in a moment.")
		return fault.Unacted(waiting(f, 2*time.Second))
	case statusMigrating:
		f := plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"HubSpot is moving the account to another data centre, which takes some hours. Try again later.")
		return fault.Unacted(waiting(f, time.Hour))
	case http.StatusTooManyRequests:
		return d.tooMany(plain, answer)
	}
	return plain
}

// apiError is HubSpot's error in all its shapes.
type apiError struct {
	CorrelationID string    `json:"correlationId"`
	Message       string    `json:"message"`
	Category      string    `json:"category"`
	PolicyName    string    `json:"policyName"`
	Context       about     `json:"context"`
	Errors        []problem `json:"errors"`
}

type problem struct {
	Message string `json:"message"`
	Name    string `json:"name"`
	In      string `json:"in"`
	Context about  `json:"context"`
}

// about is the context of an error: mostly lists of text. Other values in it are ignored.
type about map[string][]string

// UnmarshalJSON implements json.Unmarshaler.
func (c *about) UnmarshalJSON(text []byte) error {
	var values map[string]any
	_ = json.Unmarshal(text, &values) // anything but an object leaves it empty
	*c = about{}
	for key, value := range values {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, item := range list {
			if detail, isText := item.(string); isText {
				(*c)[key] = append((*c)[key], detail)
			}
		}
	}
	return nil
}

// problems returns the errors within e, and e itself as one more.
func (e apiError) problems() []problem {
	return append(slices.Clone(e.Errors), problem{Message: e.Message, Context: e.Context})
}

// notValid returns a fault that names our fields, or HubSpot's properties if none of them is ours. In that
// case the setting fields gives them wrong values, or the account's rules for tickets, which also hold for API
// writes, require them.
func (d *driver) notValid(plain *fault.Error, answer apiError) *fault.Error {
	var fields []fault.Field
	var missing, unfit []string
	refusesKey := false
	for _, property := range answer.properties() {
		field, known := ours[property]
		switch {
		case known:
			fields = append(fields, field)
		case !shortName.MatchString(property):
		case property == d.keyProperty:
			refusesKey = true
		case d.fields[property] != nil || property == sourceProperty:
			unfit = crm.AddText(unfit, property)
		default:
			missing = crm.AddText(missing, property)
		}
	}
	fields = append(fields, answer.missingRecords()...)
	switch {
	case len(fields) > 0:
		slices.SortStableFunc(fields, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
		return plain.RestateAs(fault.InvalidFields(slices.CompactFunc(fields,
			func(a, b fault.Field) bool { return a.Path == b.Path })...))
	case len(missing) > 0:
		return plain.RestateAs(adapter.MissingField(name, strings.Join(missing, ", ")))
	case len(unfit) > 0:
		return plain.RestateAs(adapter.UnfitField(name, strings.Join(unfit, ", ")))
	case refusesKey:
		return plain.Restate(fault.Invalid, fault.ReasonProviderRefused,
			"HubSpot refuses the ticket because of its property "+d.keyProperty+", the connection's key_property.")
	}
	return plain
}

// ours maps HubSpot's properties to the faults of our fields.
var ours = map[string]fault.Field{
	subjectProperty: {Path: "subject", Message: "is refused by HubSpot."},
	contentProperty: {Path: "description", Message: "is refused by HubSpot."},
	stageProperty: {Path: "status", Message: "is not a stage of the HubSpot pipeline, or a rule of the " +
		"pipeline forbids it for new tickets."},
	priorityProperty: {Path: "priority", Message: "is not a priority of the HubSpot account."},
	ownerProperty: {Path: "owner_id", Message: "is not the id of a HubSpot owner who can have tickets. An " +
		"owner's id differs from the user's id."},
}

// beginning converts the refusal of a pipeline's first stage, for a call that gave no status, into a fault of the
// setup: a pipeline's rules may say in which stages tickets begin (developers.hubspot.com/docs/api-reference/
// 2026-09-beta/crm/pipelines/pipeline-rules/guide, objectCreationRule).
func beginning(err error, p pipeline, s stage) error {
	f := fault.From(err)
	if len(f.Fields) != 1 || f.Fields[0].Path != "status" {
		return err
	}
	return f.RestateAs(fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"HubSpot does not let a ticket begin in the first stage, %s of the pipeline %s. Correct the pipeline's rules, "+
			"or name another one in the connection's setting pipeline.", s.Label, p.Label))
}

// paths maps HubSpot's properties to the fields of a call.
var paths = map[string]string{
	contentProperty: "description", priorityProperty: "priority", ownerProperty: "owner_id",
}

var shortName = regexp.MustCompile(`^[A-Za-z0-9_]{1,100}$`)

// properties lists the properties that the error is about. Those with unusable values are in the message, as
// JSON. Missing ones are in the context.
func (e apiError) properties() []string {
	var list []string
	for _, p := range e.problems() {
		list = append(list, p.Context["properties"]...)
		list = append(list, p.Context["propertyName"]...)
		if p.Name != "" {
			list = append(list, p.Name)
		} else if p.In != "" {
			list = append(list, p.In)
		}
		if start := strings.IndexByte(p.Message, '['); start >= 0 {
			var within []struct {
				Name string `json:"name"`
			}
			if json.NewDecoder(strings.NewReader(p.Message[start:])).Decode(&within) != nil {
				continue // no list of properties
			}
			for _, property := range within {
				list = append(list, property.Name)
			}
		}
	}
	return list
}

// missingRecords returns a fault for each associated record that does not exist. HubSpot's two checks report
// them by INVALID_OBJECT_IDS ("CONTACT=101 is not valid"), or by the type of the object that was not found.
func (e apiError) missingRecords() []fault.Field {
	var fields []fault.Field
	for _, p := range e.problems() {
		kinds := slices.Clone(p.Context["objectType"])
		for _, invalid := range p.Context["INVALID_OBJECT_IDS"] {
			kind, _, _ := strings.Cut(invalid, "=")
			kinds = append(kinds, kind)
		}
		for _, kind := range kinds {
			switch strings.ToLower(kind) {
			case "contact", "0-1":
				fields = append(fields, fault.Field{Path: "contact_id", Message: "is not the id of a " +
					"contact in the HubSpot account."})
			case "company", "0-2":
				fields = append(fields, fault.Field{Path: "account_id", Message: "is not the id of a " +
					"company in the HubSpot account."})
			}
		}
	}
	return fields
}

// notAllowed returns a fault that names the missing scope.
func notAllowed(plain *fault.Error, answer apiError) *fault.Error {
	var missing []string
	for _, p := range answer.problems() {
		for _, under := range []string{"requiredGranularScopes", "requiredScopes", "missingScopes"} {
			missing = append(missing, p.Context[under]...)
		}
	}
	missing = slices.DeleteFunc(missing, func(s string) bool { return !scopeName.MatchString(s) })
	if len(missing) == 0 && answer.Category != "MISSING_SCOPES" {
		return plain
	}
	which := "a scope that this needs"
	if len(missing) > 0 {
		which = "the scope " + strings.Join(missing[:min(len(missing), 8)], " or ")
	}
	return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied,
		"The HubSpot connection lacks "+which+". Add it to the app at HubSpot, and connect the account "+
			"again. Or add it to the service key or private app whose token the connection has.")
}

var scopeName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,79}$`)

// notThere distinguishes a missing record, which HubSpot's own error names, from a missing path.
func (d *driver) notThere(plain *fault.Error, answer apiError) *fault.Error {
	if answer.CorrelationID != "" || answer.Category == "OBJECT_NOT_FOUND" {
		if fields := answer.missingRecords(); len(fields) > 0 {
			return d.notValid(plain, answer)
		}
		return plain
	}
	return noAPI(plain)
}

func noAPI(plain *fault.Error) *fault.Error {
	return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"HubSpot has no such API. Check the connection's api_version and the configured api_url.")
}

// tooMany returns the fault of a rate limit, with the wait of its policy. HubSpot reports policies, but
// seldom a time (developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines).
func (d *driver) tooMany(plain *fault.Error, answer apiError) *fault.Error {
	switch answer.PolicyName {
	case "DAILY":
		f := plain.Restate(plain.Code, plain.Reason,
			"The HubSpot account has used up its calls for today. The limit resets at midnight in the "+
				"account's time zone.")
		return waiting(f, d.untilMidnight())
	case "TEN_SECONDLY_ROLLING":
		return waiting(plain, 10*time.Second)
	case "SECONDLY":
		return waiting(plain, time.Second)
	}
	return plain
}

// quarter is a part of the hour. At the end of one of them it is midnight, in every time zone.
const quarter = 15 * time.Minute

// untilMidnight returns the rest of the account's day. It returns the rest of the quarter if the account's zone is not
// known: the gateway asks HubSpot for nothing meanwhile, and calls may be left in a moment.
func (d *driver) untilMidnight() time.Duration {
	now := d.now()
	zone := d.zone.Load()
	if zone == nil {
		return now.Truncate(quarter).Add(quarter).Sub(now)
	}
	now = now.In(zone)
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, zone).Sub(now)
}

// waiting returns f with the wait, unless the response named one.
func waiting(f *fault.Error, wait time.Duration) *fault.Error {
	if f.RetryAfter > 0 {
		return f
	}
	c := *f
	c.RetryAfter = wait
	return &c
}

func noTicket() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonTicketNotFound,
		"The HubSpot account has no ticket with this number.")
}
