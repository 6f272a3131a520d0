package salesforce

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

var errNoObject = errors.New("salesforce: the answer is not the JSON that was expected")

// apiError is one error of a response ("Status Codes and Error Responses", REST API Developer Guide). Its
// message is only for the logs: it holds what administrators write into validation rules and triggers, with
// whatever data they add.
type apiError struct {
	Code   string   `json:"errorCode"`
	Fields []string `json:"fields"`
}

// Error codes that the driver itself acts on.
const (
	duplicateValue   = "DUPLICATE_VALUE"
	limitExceeded    = "REQUEST_LIMIT_EXCEEDED"
	processingHalted = "PROCESSING_HALTED" // another part failed
)

// limitWait is the Retry-After if the organisation's calls are used up. The limit covers the last 24 hours,
// so calls become free all the time, and Salesforce does not report when ("API Request Limits and
// Allocations").
const limitWait = 5 * time.Minute

// burstWait is the Retry-After if calls are left, so that it is a limit of requests at one time or of bursts.
const burstWait = 2 * time.Second

var usage = regexp.MustCompile(`\bapi-usage=([0-9]{1,18})/([0-9]{1,18})\b`)

// callsAreLeft reports whether a response says that the organisation has not used up its calls ("Limit Info
// Header", REST API Developer Guide).
func callsAreLeft(header http.Header) bool {
	found := usage.FindStringSubmatch(header.Get("Sforce-Limit-Info"))
	if found == nil {
		return false
	}
	used, _ := strconv.ParseInt(found[1], 10, 64) // they have digits alone, and few enough
	limit, _ := strconv.ParseInt(found[2], 10, 64)
	return used < limit
}

func errorsOf(body []byte) (all []apiError) {
	if json.Unmarshal(body, &all) != nil {
		return nil
	}
	return all
}

func firstError(body []byte) apiError {
	for _, e := range errorsOf(body) {
		return e
	}
	return apiError{}
}

// refusal converts the error response to a whole call into a fault.
func refusal(status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	// No request is for the URL of one record. 410 is the status of a retired version ("API End-of-Life Policy", REST
	// API Developer Guide).
	if status == http.StatusNotFound || status == http.StatusGone {
		return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"Salesforce has no such API. Check the connection's base_url and api_version.")
	}
	first := firstError(body)
	if first.Code == limitExceeded && callsAreLeft(header) {
		f := plain.Restate(fault.RateLimited, fault.ReasonProviderRateLimited,
			"The Salesforce organisation has too many requests at one time. Try again in a moment.")
		f.RetryAfter = cmp.Or(plain.RetryAfter, burstWait)
		return f
	}
	return meaning(plain, first, crm.NewTicket{}, nil)
}

// refusal returns the code and the fault of the part that failed, or nil if none did. It prefers the part
// that caused the failure to those that were rolled back with it.
func (a compositeAnswer) refusal(
	t crm.NewTicket, setting adapter.TicketFields,
) (code string, f *fault.Error) {
	for _, p := range a.Parts {
		if p.Status >= 200 && p.Status <= 299 {
			continue
		}
		first := firstError(p.Body)
		if f != nil && first.Code == processingHalted {
			continue
		}
		code, f = first.Code, partRefusal(p.Status, p.Body, first, t, setting)
		if code != processingHalted {
			break
		}
	}
	return code, f
}

func partRefusal(
	status int, body []byte, first apiError, t crm.NewTicket, setting adapter.TicketFields,
) *fault.Error {
	if status < 300 { // without a status the outcome is not known
		return unknown(errNoObject)
	}
	plain := upstream.StatusFault(name, status, nil, body)
	switch status {
	case http.StatusMultipleChoices: // an upsert that matches several cases
		f := ambiguous()
		f.Upstream = plain.Upstream
		return f
	case http.StatusNotFound:
		return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The connection's external_id_field is not marked External ID at Salesforce, or the connected "+
				"user cannot see it.")
	}
	all := errorsOf(body) // each rule that refuses the case has an error of its own
	for _, e := range all {
		if e.Code != first.Code || !foreign(e, setting) || !foreign(first, setting) {
			continue
		}
		for _, field := range e.Fields {
			first.Fields = crm.AddText(first.Fields, field)
		}
	}
	f := meaning(plain, first, t, setting)
	for _, e := range all {
		f = alsoInvalid(f, meaning(plain, e, t, setting))
	}
	return f
}

// alsoInvalid returns the refusal f with the fields that another error names, if the caller can correct f.
func alsoInvalid(f, other *fault.Error) *fault.Error {
	switch {
	case f.Code != fault.Invalid:
		return f
	case len(f.Fields) == 0 && len(other.Fields) > 0:
		return other
	}
	for _, field := range other.Fields {
		f.Fields = fault.AddField(f.Fields, field)
	}
	return f
}

// meaning converts the error codes whose status is too vague: most are 400, and 403 can mean a limit. See
// "Core Data Types Used in API Calls", StatusCode and ExceptionCode, SOAP API Developer Guide.
func meaning(plain *fault.Error, e apiError, t crm.NewTicket, setting adapter.TicketFields) *fault.Error {
	switch e.Code {
	case "INVALID_SESSION_ID":
		return plain.Restate(fault.Disconnected, fault.ReasonReconnectRequired,
			"Salesforce does not accept the connection's session. Connect the account again.")
	case limitExceeded:
		f := plain.Restate(fault.RateLimited, fault.ReasonProviderRateLimited,
			"The Salesforce organisation has used up its API calls. Try again later, or raise its limit there.")
		f.RetryAfter = cmp.Or(plain.RetryAfter, limitWait)
		return f
	case "SERVER_UNAVAILABLE":
		return plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Salesforce is not available at the moment.")
	case "INVALID_QUERY_LOCATOR": // it holds few open lists of a user (SOAP API Developer Guide, "QueryLocator")
		return plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Salesforce does not have the rest of a list any more. Try again.")
	case "QUERY_TIMEOUT":
		return plain.Restate(fault.Timeout, fault.ReasonDeadlineExceeded, "Salesforce did not finish in time.")
	case "UNABLE_TO_LOCK_ROW":
		// Salesforce waited for the record and gave up ("Record Locking Cheat Sheet", Salesforce Developers). The whole
		// call was undone, and a retry succeeds once the other change is made.
		return fault.Unacted(plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Salesforce was busy with another change of a record that the ticket belongs to. Try again."))
	case "INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE":
		// Planned maintenance, such as the switch to another site, leaves an organisation read-only for a while
		// ("Read-Only Mode", Salesforce Help).
		return fault.Unacted(plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Salesforce takes no changes at the moment, because of its maintenance. Try again later."))
	case "STORAGE_LIMIT_EXCEEDED":
		return plain.Restate(fault.Exhausted, fault.ReasonStorageFull,
			"The Salesforce organisation has no room left for cases.")
	case duplicateValue, "DUPLICATES_DETECTED":
		f := plain.Restate(fault.Conflict, fault.ReasonProviderConflict,
			"The Salesforce organisation considers the ticket a duplicate.")
		f.NoRetry = true
		return f
	case "API_DISABLED_FOR_ORG", "API_CURRENTLY_DISABLED":
		return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"The Salesforce organisation or the connected user has no API access. Grant the permission API "+
				"Enabled.")
	case "INVALID_FIELD", "INVALID_FIELD_FOR_INSERT_UPDATE", "INVALID_TYPE":
		return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"Salesforce does not let the connected user see or set every case field that is needed. Give "+
				"the user field-level access; the log names the missing field. Also check the connection's "+
				"comments and external_id_field.")
	case "INSUFFICIENT_ACCESS_OR_READONLY":
		return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"Salesforce does not allow the connected user to do this. Grant the user the permission, or "+
				"connect another one.")
	case "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST":
		if foreign(e, setting) {
			return missing(plain, e, setting)
		}
		return invalid(plain, e, setting, "is not a value that the Salesforce organisation accepts for such "+
			"a case.",
			"Salesforce does not accept one of its own default values for such a case.")
	case "STRING_TOO_LONG":
		return invalid(plain, e, setting, "is longer than Salesforce accepts.",
			"A text of the ticket is longer than Salesforce accepts.")
	case "REQUIRED_FIELD_MISSING":
		return missing(plain, e, setting)
	case "INVALID_CROSS_REFERENCE_KEY", "INVALID_ID_FIELD", "MALFORMED_ID", "FIELD_INTEGRITY_EXCEPTION",
		"ENTITY_IS_DELETED",
		"INACTIVE_OWNER_OR_USER", "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY":
		return unknownRecord(plain, e, t, setting)
	case "FIELD_CUSTOM_VALIDATION_EXCEPTION":
		if foreign(e, setting) {
			return missing(plain, e, setting)
		}
		return invalid(plain, e, setting, "is refused by a validation rule of the Salesforce organisation.",
			"A validation rule of the Salesforce organisation refuses the ticket.")
	case "FIELD_FILTER_VALIDATION_EXCEPTION", "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
		"CANNOT_EXECUTE_FLOW_TRIGGER":
		return invalid(plain, e, setting, "is refused by the Salesforce organisation's own automation.",
			"The Salesforce organisation's own automation refuses the ticket.")
	case "JSON_PARSER_ERROR":
		// A text is no value of its field's type, such as a date, and Salesforce names no field
		// (github.com/qoretechnologies/qore/issues/3908). A call gives none of such a type.
		if len(setting) > 0 {
			return plain.RestateAs(adapter.UnfitField(name, strings.Join(slices.Sorted(maps.Keys(setting)), " or ")))
		}
	}
	// Other codes say in further ways what is wrong with a value ("Error", on the page named above).
	if plain.Code == fault.Invalid && len(e.Fields) > 0 {
		return invalid(plain, e, setting, "is not accepted by Salesforce.", "Salesforce does not accept the ticket.")
	}
	return plain
}

// paths maps the API's fields to those of the interface.
var paths = map[string]string{
	"Subject": "subject", "Description": "description", "Status": "status", "Priority": "priority",
	"OwnerId": "owner_id", "AccountId": "account_id", "ContactId": "contact_id",
}

// invalid returns a fault with the message for each of our fields that Salesforce names. If it names none of
// them, the fault names the setting's fields. If it names none of those either, the fault has the detail.
func invalid(
	plain *fault.Error, e apiError, setting adapter.TicketFields, message, detail string,
) *fault.Error {
	var faults []fault.Field
	for _, field := range e.Fields {
		if path, known := paths[field]; known {
			faults = append(faults, fault.Field{Path: path, Message: message})
		}
	}
	if unfit := ofSetting(setting, e.Fields); len(faults) == 0 && len(unfit) > 0 {
		return plain.RestateAs(adapter.UnfitField(name, strings.Join(unfit, ", ")))
	}
	if len(faults) == 0 {
		return plain.Restate(fault.Invalid, fault.ReasonProviderRefused, detail+" The gateway's log has the "+
			"provider's message at debug level.")
	}
	return fieldsFault(plain, faults)
}

func fieldsFault(plain *fault.Error, faults []fault.Field) *fault.Error {
	f := fault.InvalidFields(faults...)
	f.Metadata, f.Upstream = plain.Metadata, plain.Upstream
	return f
}

var apiName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,80}$`)

// foreign reports whether an error is about fields alone that neither a call nor the setting gives. A rule requires
// them, or a default of the organisation does not suit its record type.
func foreign(e apiError, setting adapter.TicketFields) bool {
	return len(e.Fields) > 0 && len(e.others()) == len(e.Fields) && len(ofSetting(setting, e.Fields)) == 0
}

// others returns the fields of an error that no call can give.
func (e apiError) others() (names []string) {
	for _, field := range e.Fields {
		if _, ours := paths[field]; !ours && apiName.MatchString(field) {
			names = append(names, field)
		}
	}
	return names
}

// missing returns the fault of missing fields. It distinguishes those that the caller can give from those
// that only the setting can.
func missing(plain *fault.Error, e apiError, setting adapter.TicketFields) *fault.Error {
	others := e.others()
	if len(others) == 0 {
		return invalid(plain, e, setting, "is required by the Salesforce organisation.",
			"The Salesforce organisation requires more values for a ticket.")
	}
	return plain.RestateAs(adapter.MissingField(name, strings.Join(others, ", ")))
}

// unknownRecord names the related record that does not exist or that the user may not use. If Salesforce does
// not say which record it means, the fault names every record that was given.
func unknownRecord(
	plain *fault.Error, e apiError, t crm.NewTicket, setting adapter.TicketFields,
) *fault.Error {
	given := relations(t)
	if of := slices.DeleteFunc(slices.Clone(given),
		func(r relation) bool { return !slices.Contains(e.Fields, r.field) }); len(of) > 0 {
		given = of
	}
	var faults []fault.Field
	for _, r := range given {
		message := "is not a record of this kind that the connected Salesforce user can use."
		if len(given) > 1 {
			message = "may be the id that Salesforce does not know, or does not let the connected user use; " +
				"Salesforce does not say which id it means."
		}
		faults = append(faults, fault.Field{Path: r.path, Message: message})
	}
	unfit := ofSetting(setting, e.Fields)
	if len(unfit) == 0 {
		unfit = records(setting)
	}
	if len(faults) == 0 && len(unfit) > 0 {
		return plain.RestateAs(adapter.UnfitField(name, strings.Join(unfit, " or ")))
	}
	if len(faults) == 0 {
		return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"Salesforce does not let the connected user use a record that the case would belong to.")
	}
	return fieldsFault(plain, faults)
}

func unknownLabel(path string) fault.Field {
	return fault.Field{Path: path, Message: "is not a label of the Salesforce organisation."}
}

func noTicket() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no such case at Salesforce.")
}

func ambiguous() *fault.Error {
	f := fault.New(fault.Conflict, fault.ReasonProviderConflict,
		"Several cases at Salesforce have this number or key. Mark the field as unique, and correct the "+
			"cases.")
	f.NoRetry = true
	return f
}

func noInstance() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"Salesforce did not say where the organisation's API is. Set the connection's base_url.")
}

// unreadable returns the fault of a successful response to a read with unexpected content.
func unreadable(err error) *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"Salesforce gave an unexpected answer. Check the connection's base_url.").
		Because(err)
}

// unknown returns the fault of a successful response to a write with unexpected content.
func unknown(err error) *fault.Error {
	return fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"Salesforce accepted the ticket, but its answer could not be read.").Because(err)
}

// unseen returns the fault of a case that was created and cannot be read, because an assignment rule gave it
// to somebody whose cases the user does not see.
func unseen() *fault.Error {
	return fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"Salesforce opened the case, but does not show it to the connected user. Let the user see the cases "+
			"of the owner to whom they are assigned.")
}
