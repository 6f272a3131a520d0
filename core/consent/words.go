package consent

import (
	"net/http"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// reasonForeign is the reason of a request that another site's page made.
const reasonForeign = "CROSS_SITE_REQUEST"

// words say to a customer what happened and what to do. Nothing in them comes from a provider.
type words struct {
	status  int
	Heading string
	Means   string
	Remedy  string
	again   bool // it is worth trying again with the same link
}

const (
	askForNew = "Ask whoever sent you the link for a new one."
	tellThem  = "Tell whoever sent you the link."
)

// wordsOf are the words for a failure; % in the table stands for the provider's title.
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
	tenant.ReasonLinkUnknown: {http.StatusNotFound, "This link leads nowhere",
		"It may be mistyped, or was cut off on its way to you.", "Open it as it was sent to you. " + askForNew, false},
	tenant.ReasonLinkExpired: {http.StatusGone, "This link has expired",
		"Such links are good for a limited time only.", askForNew, false},
	tenant.ReasonLinkUsed: {http.StatusGone, "This link has been used",
		"It was good for one connection, and an account was connected with it.", "There is nothing more to do. If it was not you, tell whoever sent you the link.", false},
	tenant.ReasonLinkObsolete: {http.StatusGone, "This link is out of date",
		"What it was made for has changed since.", askForNew, false},
	tenant.ReasonLinkBusy: {http.StatusConflict, "An account is just being connected",
		"This link, or another one for the same connection, is in use at this moment.", "Look there first. If nothing was connected, try again in a minute.", true},
	reasonForeign: {http.StatusForbidden, "This was not begun here",
		"Another page tried to connect an account in your name. Nothing was changed.", "Open the link that was sent to you, and go on from there.", false},
	tenant.ReasonNotThisConsent: {http.StatusBadRequest, "This cannot be finished here",
		"It does not belong to a sign-in that was begun in this browser in the last ten minutes, or it was finished before. Nothing was changed now.",
		"If you have not seen a page that says what was connected, open the link that was sent to you again.", false},
	tenant.ReasonConsentMalformed: {http.StatusBadRequest, "The answer cannot be read",
		"% sent you back with something that is no answer. Nothing was connected.", "Try again. If it stays so, tell whoever sent you the link.", true},
	tenant.ReasonConsentIssuer: {http.StatusBadRequest, "The answer comes from somewhere else",
		"It was not % that sent you back. Nothing was connected.", "Try again. If it stays so, tell whoever sent you the link.", true},
	tenant.ReasonConsentDeclined: {http.StatusForbidden, "You declined",
		"% was told not to give access. Nothing was connected.", "If that is what you wanted, you can close this window.", true},
	tenant.ReasonConsentFailed: {http.StatusForbidden, "% did not give access",
		"It says that this account cannot allow what was asked for, or not without its administrator. Nothing was connected.",
		"Try again with another account, or tell whoever sent you the link.", true},
	tenant.ReasonScopesMissing: {http.StatusForbidden, "Something is missing",
		"It works only with everything that was asked for. Nothing was connected.", "Try again, and leave everything ticked at %.", true},
	tenant.ReasonNotLasting: {http.StatusBadGateway, "The access would not last",
		"% gave access for a short time only. Nothing was connected.", "Try again. If it stays so, tell whoever sent you the link.", true},
	tenant.ReasonOtherAccount: {http.StatusConflict, "This is another account",
		"You signed in with another account than the one that is connected. Nothing was changed.",
		"Try again, and choose the account that was connected so far. If the other one is meant, ask whoever sent you the link for one that allows it.", true},
	fault.ReasonProviderMisconfigured: {http.StatusBadGateway, "This is not set up properly",
		"% refuses the way in which it was asked. Nothing was connected.", tellThem, false},
}

var byCode = map[fault.Code]words{
	fault.Disconnected: {http.StatusBadRequest, "% did not accept the sign-in",
		"It may have taken too long, or was used before. Nothing was connected.", "Try again.", true},
	fault.Forbidden: {http.StatusForbidden, "This account cannot be used",
		"% does not let this account do what is needed. Nothing was connected.", "Try again with another account, or tell whoever sent you the link.", true},
	fault.NotFound: {http.StatusBadGateway, "Something was not found",
		"% does not have what the connection is set up for, such as its calendar. Nothing was connected.", tellThem, true},
	fault.Unsupported: {http.StatusBadGateway, "This account cannot be used",
		"% cannot do what is needed with this account. Nothing was connected.", tellThem, true},
	fault.Conflict: {http.StatusConflict, "Something changed meanwhile",
		"The connection was changed at the same moment.", "Try again.", true},
	fault.RateLimited: {http.StatusServiceUnavailable, "% is too busy",
		"It takes no more questions at the moment. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Unavailable: {http.StatusServiceUnavailable, "This does not work at the moment",
		"%, or this service, cannot be reached. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Timeout: {http.StatusServiceUnavailable, "This took too long",
		"% did not answer in time. Nothing was connected.", "Try again in a few minutes.", true},
	fault.Canceled: {http.StatusServiceUnavailable, "This was broken off",
		"Nothing was connected.", "Try again.", true},
}

var defect = words{http.StatusInternalServerError, "Something went wrong here",
	"That should not have happened. Nothing was connected.", "Try again. If it stays so, tell whoever sent you the link.", true}
