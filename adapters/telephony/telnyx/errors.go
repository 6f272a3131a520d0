package telnyx

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// subject is what a call is about. Some refusals have a specific meaning for it.
type subject int

const (
	anything    subject = iota
	aSearch             // for numbers to sell
	anOrder             // to be made
	oneNumber           // of the account, by its id
	aConnection         // that numbers lead to
)

// apiError is one of the errors of an error response
// (developers.telnyx.com/development/api-fundamentals/api-errors).
type apiError struct {
	Code   code `json:"code"`
	Source struct {
		Pointer   string `json:"pointer"`
		Parameter string `json:"parameter"`
	} `json:"source"`
}

// code is an error code: a number, written as a string.
type code string

// UnmarshalJSON reads a string, and a number as well.
func (c *code) UnmarshalJSON(text []byte) error {
	*c = code(strings.Trim(string(text), `"`))
	return nil
}

// The codes that say more than the HTTP status.
const (
	codeNotFound      code = "10005"
	codeInvalidID     code = "10006"
	codeAuthFailed    code = "10009"
	codeNoAssociation code = "10013"
	codeNoAssociated  code = "10017"
	codeFeatureLimit  code = "10039" // developers.telnyx.com/api/errors/10039, "Feature limited"
	codeNoFunds       code = "20100" // developers.telnyx.com/api/errors/20100, "Insufficient Funds"
)

func read(body []byte) []apiError {
	var answer struct {
		Errors []apiError `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	return answer.Errors
}

// refusal converts an error response into a fault. It uses the status if the codes say no more.
func refusal(about subject, status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	errors := read(body)
	has := func(codes ...code) bool {
		return slices.ContainsFunc(errors, func(e apiError) bool { return slices.Contains(codes, e.Code) })
	}
	at := func(word string) bool {
		return slices.ContainsFunc(errors,
			func(e apiError) bool { return strings.Contains(e.Source.Pointer+e.Source.Parameter, word) })
	}
	switch {
	case status == http.StatusTooManyRequests:
		if plain.RetryAfter == 0 {
			plain.RetryAfter = untilReset(header)
		}
		return plain
	case status == http.StatusPaymentRequired, has(codeNoFunds):
		return plain.Restate(fault.Exhausted, fault.ReasonInsufficientFunds,
			"The balance of the Telnyx account is too low. Add funds in Telnyx's portal.")
	case status == http.StatusForbidden && has(codeAuthFailed):
		return plain.Restate(fault.Disconnected, fault.ReasonReconnectRequired,
			"Telnyx refuses the connection's API key. Connect the account again.")
	case has(codeFeatureLimit):
		return plain.Restate(fault.Exhausted, fault.ReasonTrialLimit,
			"The Telnyx account has reached a limit of its level. Upgrade the account in Telnyx's portal.")
	case status >= 500 || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return plain
	case about == oneNumber && has(codeNotFound, codeInvalidID):
		return plain.Restate(fault.NotFound, fault.ReasonNumberNotFound, noNumber().Detail)
	case about == oneNumber && at("customer_reference"):
		f := fault.InvalidField("name", "is not accepted by Telnyx as a number's customer reference.")
		f.Upstream = plain.Upstream
		return f
	case at("connection_id"), about == anOrder && has(codeNoAssociation, codeNoAssociated),
		about == aConnection && has(codeNotFound, codeInvalidID):
		return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured, noConnection)
	case about == anOrder && (at("requirement") || at("address")):
		return plain.RestateAs(lacking(!at("requirement")))
	case about == aSearch && at("national_destination_code"):
		return plain.Restate(fault.NotFound, fault.ReasonNoNumbersAvailable,
			"Telnyx has no numbers in this area code.")
	case plain.Code == fault.NotFound && len(errors) == 0:
		return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The configured address has no such Telnyx API. Check providers.telnyx.api_url.")
	case plain.Reason == fault.ReasonProviderMisconfigured:
		return plain.Restate(plain.Code, plain.Reason, unreadable(http.MethodGet).Detail)
	}
	return plain
}

const noConnection = "Telnyx has no connection with the id in the connection's settings. Check the " +
	"connection's connection_id."

func isNoConnection(err error) bool {
	f := fault.From(err)
	return f.Reason == fault.ReasonProviderMisconfigured && f.Detail == noConnection
}

// untilReset returns how long the rate limit lasts
// (developers.telnyx.com/development/api-fundamentals/reliability/rate-limiting: "the time in seconds until
// the rate limit resets").
func untilReset(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(header.Get("X-Ratelimit-Reset")), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 24*time.Hour)
}

// lacking returns the fault of an order that was refused for what the law requires of the customer.
func lacking(addressAlone bool) *fault.Error {
	reason := fault.ReasonBundleRequired
	if addressAlone {
		reason = fault.ReasonAddressRequired
	}
	what := required(addressAlone)
	return fault.Newf(fault.Conflict, reason, "Telnyx requires %s of the customer for this number. Add %s in "+
		"Telnyx's portal, or choose another area code.", what, what)
}

// waiting returns the fault of an order that stands and waits for what the law requires. It buys the number as
// soon as somebody adds that.
func waiting(e164 string, addressAlone bool) *fault.Error {
	what := required(addressAlone)
	return fault.Newf(fault.UnknownOutcome, fault.ReasonOrderPending, "%s is ordered, but Telnyx requires %s of the "+
		"customer for it. Add %s to the order in Telnyx's portal, or cancel the order there.", e164, what, what)
}

func required(addressAlone bool) string {
	if addressAlone {
		return "an address"
	}
	return "documents"
}

func isFault(err error, code fault.Code, reason string) bool {
	f := fault.From(err)
	return f != nil && f.Code == code && f.Reason == reason
}

func noNumber() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "The Telnyx account has no such phone number.")
}

func numberTaken() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken,
		"The number is no longer for sale. Try another one.")
}

// unreadable returns the fault of a successful response with unexpected content. It names the configured URL, since a
// connection to Telnyx has no address.
func unreadable(method string) *fault.Error {
	return upstream.Unreadable(name, method,
		"Telnyx gave an unexpected answer. Check providers.telnyx.api_url.",
		"Telnyx accepted the request, but its answer could not be read.")
}
