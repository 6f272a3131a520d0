package rest

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// statusFor is a status that says plainly what a rule's fault is.
var statusFor = map[string]int{
	"not_found": http.StatusNotFound, "invalid": http.StatusUnprocessableEntity,
	"forbidden": http.StatusForbidden, "disconnected": http.StatusUnauthorized,
	"rate_limited": http.StatusTooManyRequests, "unavailable": http.StatusServiceUnavailable,
	"conflict": http.StatusConflict,
}

// misconfigured is the fault of a rule about what the connection's settings have the ticket system do.
const misconfigured = "misconfigured"

// matchRules returns what the first rule that fits says of an answer, nil when none does.
func (r *run) matchRules(ctx context.Context, s step, got answer) error {
	for _, rule := range s.rules {
		if len(rule.status) > 0 && !slices.Contains(rule.status, got.status) {
			continue
		}
		if rule.match.given() {
			fits, err := rule.match.holds(ctx, got.value())
			if ctx.Err() != nil {
				return fault.From(ctx.Err())
			}
			if err != nil || !fits { // an answer of another shape is not what the rule is for
				continue
			}
		}
		if rule.field != "" && !r.asks(rule.field) { // nobody is told to correct what they did not send
			continue
		}
		if rule.fault == misconfigured {
			return at(s, rule.setUp(ctx, got, r.forOperator))
		}
		f := upstream.StatusFault(name, statusFor[rule.fault], got.header, got.raw).
			With("upstream_status", strconv.Itoa(got.status))
		if rest, ok := strings.CutPrefix(f.Upstream, strconv.Itoa(statusFor[rule.fault])); ok {
			f.Upstream = strconv.Itoa(got.status) + rest
		}
		if f.Code == fault.NotFound && s.looksUp {
			return noTicket(f)
		}
		if rule.field != "" {
			f.Reason = fault.ReasonInvalidRequest
			f.Detail = "The ticket system refuses the ticket. See the listed field."
			message := rule.message
			if message == "" {
				message = "is refused by the ticket system."
			}
			f.Fields = []fault.Field{{Path: rule.field, Message: message}}
		} else if rule.message != "" {
			f.Detail = rule.message
		}
		return at(s, f)
	}
	return nil
}

// asks reports whether the new ticket was given a field.
func (r *run) asks(field string) bool {
	ticket, _ := r.input["ticket"].(map[string]any)
	return ticket[field] != nil
}

// setUp returns the fault of an answer that a person has to change the settings for, or the ticket system.
// That person gets the names in the answer; a caller does not, because they are a stranger's words.
func (u rule) setUp(ctx context.Context, got answer, forOperator bool) *fault.Error {
	f := refusedSetUp(got)
	if u.message != "" {
		f.Detail = strings.TrimRight(u.message, ".") + "."
	}
	if !forOperator {
		return f
	}
	if names := u.plainNames(ctx, got); len(names) > 0 {
		f.Detail = strings.TrimRight(f.Detail, ".") + ": " + strings.Join(names, ", ") + "."
	}
	return f
}

// The limits of the names that are reported from an answer. They go to a terminal, so they must not be free
// text.
const (
	maxNames      = 5
	maxNameLength = 40
)

// plainName is the name of a field as people give it one.
var plainName = regexp.MustCompile(`\A[\p{L}\p{N}][\p{L}\p{N} _/()-]*\z`)

func (u rule) plainNames(ctx context.Context, got answer) (names []string) {
	v, err := u.names.value(ctx, got.value())
	if err != nil { // an answer of another shape has none
		return nil
	}
	list, _ := v.([]any)
	for _, item := range list {
		name, isText := item.(string)
		if isText && len(name) <= maxNameLength && plainName.MatchString(name) && len(names) < maxNames {
			names = append(names, name)
		}
	}
	return names
}

// refusedSetUp is for what the ticket system refuses and the caller cannot correct.
func refusedSetUp(got answer) *fault.Error {
	f := fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The ticket system refuses a request that the connection's settings make (status %d). It may "+
			"require a field that no step sets; run connection verify.",
		got.status).With("upstream_status", strconv.Itoa(got.status))
	f.Upstream = upstream.StatusFault(name, got.status, nil, got.raw).Upstream
	return f
}

// plain says what an answer means by its status. That a request is wrong is the fault of the settings, which
// make it, unless a rule says which field of the new ticket it is about; but a number to look for is the
// caller's. That a path is not there means that there is no ticket where one is looked up, and elsewhere that
// the settings are wrong. So it does where a key is searched for: if there is no ticket with it, another one
// is opened.
func (r *run) plain(s step, got answer) *fault.Error {
	f := upstream.StatusFault(name, got.status, got.header, got.raw)
	switch {
	case !s.looksUp && (got.status == http.StatusBadRequest || got.status == http.StatusUnprocessableEntity):
		return refusedSetUp(got)
	case f.Code != fault.NotFound:
		return f
	case s.looksUp && !s.search:
		return noTicket(f)
	}
	missing := fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The ticket system has nothing at the path of the request (status %d). Check base_url and the path.",
		got.status)
	missing.Upstream = f.Upstream
	return missing
}

func noTicket(because *fault.Error) *fault.Error {
	f := fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no ticket with this number.")
	if because != nil {
		f.Upstream = because.Upstream
	}
	return f
}

// at names the step that failed, which nothing else tells whoever wrote the settings.
func at(s step, f *fault.Error) *fault.Error {
	f = f.With("step", s.label)
	f.Detail += " The step was " + s.label + "."
	return f
}

// afterActing is for what fails when the ticket may be there already: it must not look as if nothing had
// happened.
func afterActing(err error, number string) error {
	f := fault.From(err)
	unknown := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The ticket system accepted the ticket, but the outcome could not be read. Check in the ticket "+
			"system. "+f.Detail)
	if number != "" {
		unknown = fault.Newf(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"The ticket %s was opened, but could not be read back. Check in the ticket system. %s", number, f.Detail)
	}
	unknown.Metadata, unknown.Upstream = f.Metadata, f.Upstream
	return unknown.Because(err)
}
