package consent

import (
	"net/http"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/link"
)

// reasonForeign is the reason of the fault for a cross-site request.
const reasonForeign = "CROSS_SITE_REQUEST"

// words explain to a customer what happened and what to do. They contain no text from a provider.
type words struct {
	status  int
	Heading string
	Means   string
	Remedy  string
	again   bool // the customer may try again with the same link
}

const (
	askForNew = "Ask the person who sent you the link for a new one."
	tellThem  = "Please tell the person who sent you the link."
)

// wordsOf returns the words for a failure. It replaces % in the table with the provider's title.
func wordsOf(f *fault.Error, provider string) words {
	says, known := byReason[f.Reason]
	if !known {
		says, known = byCode[f.Code]
	}
	if !known {
		says = defect
	}
	for _, text := range []*string{&says.Heading, &says.Means, &says.Remedy} {
		*text = strings.ReplaceAll(*text, "%", provider)
	}
	return says
}

var byReason = map[string]words{
	link.ReasonUnknown: {http.StatusNotFound, "This link does not work",
		"It may be mistyped or incomplete.", "Open it exactly as it was sent to you. " + askForNew, false},
	link.ReasonExpired: {http.StatusGone, "This link has expired",
		"Links like this one work for a limited time only.", askForNew, false},
	link.ReasonUsed: {http.StatusGone, "This link has been used",
		"It works for one connection, and an account has been connected with it.",
		"You need not do anything else. If it was not you, tell the person who sent you the link.", false},
	link.ReasonObsolete: {http.StatusGone, "This link is out of date",
		"Something has changed since the link was made.", askForNew, false},
	link.ReasonBusy: {http.StatusConflict, "Another sign-in is in progress",
		"This link, or another one for the same connection, is being used in another window.",
		"Check that window first. If nothing was connected there, try again in a minute.", true},
	reasonForeign: {http.StatusForbidden, "This request came from another page",
		"Another web page tried to connect an account in your name. Nothing was changed.",
		"Open the link that was sent to you, and continue from there.", false},
	link.ReasonNotThisConsent: {http.StatusBadRequest, "This sign-in cannot be completed",
		"It was started in another browser or more than ten minutes ago, or it is already complete. Nothing " +
			"was changed now.",
		"If no page has told you that your account is connected, open the link that was sent to you again.", false},
	link.ReasonConsentMalformed: {http.StatusBadRequest, "The answer could not be read",
		"% sent you back with an answer that makes no sense. Nothing was connected.",
		"Try again. If it happens again, tell the person who sent you the link.", true},
	link.ReasonConsentIssuer: {http.StatusBadRequest, "The answer came from the wrong place",
		"It was not % that sent you back here. Nothing was connected.",
		"Try again. If it happens again, tell the person who sent you the link.", true},
	link.ReasonConsentDeclined: {http.StatusForbidden, "You declined",
		"% was told not to give access. Nothing was connected.",
		"If that is what you wanted, you can close this window.", true},
	link.ReasonConsentFailed: {http.StatusForbidden, "% did not give access",
		"This account may not grant the access, or only with its administrator's approval. Nothing was " +
			"connected.",
		"Try again with another account, or tell the person who sent you the link.", true},
	link.ReasonScopesMissing: {http.StatusForbidden, "Some access is missing",
		"The connection needs everything that was asked for. Nothing was connected.",
		"Try again, and leave all boxes ticked at %.", true},
	link.ReasonNotLasting: {http.StatusBadGateway, "The access would not last",
		"% gave access for a short time only. Nothing was connected.",
		"Try again. If it happens again, tell the person who sent you the link.", true},
	link.ReasonOtherAccount: {http.StatusConflict, "This is another account",
		"You signed in with a different account from the one that is connected. Nothing was changed.",
		"Try again, and choose the connected account. To use the other account, ask the person who sent you " +
			"the link for one that allows it.", true},
	fault.ReasonProviderMisconfigured: {http.StatusBadGateway, "Something is set up wrongly",
		"% refused the request, because something in the setup is wrong. Nothing was connected.", tellThem, false},
}

var byCode = map[fault.Code]words{
	fault.Disconnected: {http.StatusBadRequest, "% did not accept the sign-in",
		"It may have taken too long, or it was already used. Nothing was connected.", "Try again.", true},
	fault.Forbidden: {http.StatusForbidden, "This account cannot be used",
		"% does not let this account do what is needed. Nothing was connected.",
		"Try again with another account, or tell the person who sent you the link.", true},
	fault.NotFound: {http.StatusBadGateway, "Something was not found",
		"% does not have what the connection needs, such as a certain calendar. Nothing was connected.",
		tellThem, true},
	fault.Unsupported: {http.StatusBadGateway, "This account cannot be used",
		"% does not offer what is needed for this account. Nothing was connected.", tellThem, true},
	fault.Conflict: {http.StatusConflict, "Something changed in the meantime",
		"Somebody changed the connection at the same moment.", "Try again.", true},
	fault.RateLimited: {http.StatusServiceUnavailable, "% is too busy",
		"It accepts no more requests at the moment. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Unavailable: {http.StatusServiceUnavailable, "This is not working at the moment",
		"% or this service cannot be reached. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Timeout: {http.StatusServiceUnavailable, "This took too long",
		"% did not answer in time. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Canceled: {http.StatusServiceUnavailable, "This was interrupted",
		"Nothing was connected.", "Try again.", true},
}

var defect = words{http.StatusInternalServerError, "Something went wrong here",
	"This should not have happened. Nothing was connected.",
	"Try again. If it happens again, tell the person who sent you the link.", true}
