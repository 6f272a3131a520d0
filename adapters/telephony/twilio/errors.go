package twilio

import (
	"encoding/json"
	"net/http"
	"strconv"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// meaning is what one of Twilio's error codes means for the gateway.
type meaning struct {
	code           fault.Code
	reason, detail string
}

// The error codes that the driver checks for (twilio.com/docs/api/errors).
const (
	badName         = 20002
	testCredentials = 20008
	notFound        = 20404
	tooMany         = 20429
	notAvailable    = 21422
	badAreaCode     = 21451
	noneInAreaCode  = 21452
)

// meanings are those of the codes that say more than the HTTP status.
var meanings = map[int]meaning{
	10001: inactive, 20005: inactive, 20403: inactive, 90010: inactive,
	10002: trial, 21404: trial,
	21613: addressRequired, 21615: addressRequired, 21631: addressRequired,
	21649: bundleRequired, 21650: bundleRequired, 21651: bundleRequired,
	// Twilio responds with 401 to a restricted API key that lacks a permission.
	70051: {fault.Forbidden, fault.ReasonPermissionDenied,
		"Twilio does not allow the connection's credentials to do this. Grant the API key the permission " +
			"for phone numbers, or use another key."},
	22300: {fault.Forbidden, fault.ReasonPermissionDenied,
		"Twilio does not let the account buy phone numbers at the moment. Ask Twilio's support to lift the " +
			"restriction."},
	testCredentials: {fault.Forbidden, fault.ReasonPermissionDenied,
		"Twilio's test credentials cannot do this. Use the live credentials of the account."},
	tooMany: {fault.RateLimited, fault.ReasonProviderRateLimited,
		"Twilio limits how many calls an account makes at one time. Try again later."},
	21401: invalidNumber, 21421: invalidNumber,
	21402: {fault.Unsupported, fault.ReasonProviderMisconfigured,
		"Twilio does not accept the address for calls. Check voice_url_template."},
	21420: noApplication, 22108: noApplication,
	notAvailable: {fault.Conflict, fault.ReasonNumberTaken, "The number is no longer for sale at Twilio."},
}

var (
	// An account whose balance is used up is suspended: see the pages of 10001 and 20005.
	inactive = meaning{
		fault.Forbidden, fault.ReasonAccountSuspended,
		"The Twilio account is not active: it is suspended or closed, or its balance is used up. Look in " +
			"Twilio's Console.",
	}
	trial = meaning{fault.Exhausted, fault.ReasonTrialLimit,
		"A trial account at Twilio can have only one number, and none in a subaccount. Upgrade the account, " +
			"or release its number."}

	addressRequired = meaning{fault.Conflict, fault.ReasonAddressRequired,
		"Twilio requires an address of the customer for this number. Add one in Twilio's Console, and set " +
			"address_sid."}
	bundleRequired = meaning{fault.Conflict, fault.ReasonBundleRequired,
		"Twilio requires regulatory documents for this number. Have a bundle approved in Twilio's Console, " +
			"and set bundle_sid."}
	invalidNumber = meaning{fault.Invalid, fault.ReasonProviderRefused,
		"Twilio does not recognise this as a phone number that can be bought."}
	noApplication = meaning{fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The Twilio account does not have the application for calls. Check voice_application."}
)

// refusal converts an error response, {code, message, more_info, status}
// (twilio.com/docs/usage/twilios-response, "Exceptions"), into a fault. The message may hold anything, and is
// only for the logs.
func refusal(status int, header http.Header, body []byte) *fault.Error {
	var answer struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(body, &answer) // a body that is not Twilio's has no code
	f := upstream.StatusFault(name, status, header, body)
	if answer.Code != 0 {
		f = f.With(metadataCode, strconv.Itoa(answer.Code))
	}
	m, known := meanings[answer.Code]
	switch {
	case answer.Code == badName:
		return f.RestateAs(fault.InvalidField("name", "is not accepted by Twilio: send 1 to 64 characters."))
	case known:
		f = restate(f, m)
	case status == http.StatusPaymentRequired:
		f = restate(f, noFunds)
	case f.Code == fault.NotFound && answer.Code != notFound:
		f = restate(f, meaning{fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The configured address has no Twilio API. Check providers.twilio.api_url."})
	}
	// "An API Request that receives an error 429 response is never processed and is always safe to retry"
	// (twilio.com/docs/errors/20429).
	f.Unsent = f.Code == fault.RateLimited
	return f
}

// metadataCode is the key of Twilio's error code in a fault's metadata. Twilio's pages explain the codes.
const metadataCode = "twilio_code"

var noFunds = meaning{fault.Exhausted, fault.ReasonInsufficientFunds,
	"The balance of the Twilio account is too low for another number. Add funds in Twilio's Console."}

// restate returns the fault with another meaning.
func restate(f *fault.Error, m meaning) *fault.Error { return f.Restate(m.code, m.reason, m.detail) }

// hasCode reports whether Twilio refused with one of the codes.
func hasCode(err error, codes ...int) bool {
	f := fault.From(err)
	for _, code := range codes {
		if f != nil && f.Metadata[metadataCode] == strconv.Itoa(code) {
			return true
		}
	}
	return false
}

// unexplained reports whether Twilio refused without saying why.
func unexplained(err error) bool {
	f := fault.From(err)
	return f.Reason == fault.ReasonPermissionDenied ||
		f.Reason == fault.ReasonProviderRefused && f.Detail != invalidNumber.detail
}

// numberMissing changes Twilio's "not found" into the fault of a number that is not found.
func numberMissing(err error) error {
	if hasCode(err, notFound) {
		return restate(fault.From(err), meaning{fault.NotFound, fault.ReasonNumberNotFound, noNumber().Detail})
	}
	return err
}

// accountMissing changes Twilio's "not found" into the fault of an account that is not found.
func accountMissing(err error) error {
	if hasCode(err, notFound) {
		return restate(fault.From(err), meaning{fault.Unsupported, fault.ReasonProviderMisconfigured,
			"Twilio has no such account for the connection's credentials. Check account_sid and " +
				"subaccount_sid."})
	}
	return err
}

func noNumber() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "The Twilio account has no such number.")
}

// heldBefore returns the fault of a number that the account holds, but not by this order.
func heldBefore() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken,
		"The Twilio account held the number before it was ordered.")
}

// unheeded returns the fault of a change that was accepted but not made.
func unheeded() *fault.Error {
	f := fault.New(fault.Conflict, fault.ReasonProviderConflict,
		"Twilio accepted the change, but keeps another name or another destination for calls. Check the "+
			"number in Twilio's Console.")
	f.NoRetry = true
	return f
}

// unreadable returns the fault of a successful response with unexpected content.
func unreadable(method string) *fault.Error {
	return upstream.Unreadable(name, method,
		"Twilio gave an unexpected answer.",
		"Twilio accepted the request, but its answer could not be read.")
}
