package rest

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// statusFor maps the fault of a rule to the status with that meaning.
var statusFor = map[string]int{
	"not_found": http.StatusNotFound, "invalid": http.StatusUnprocessableEntity,
	"forbidden": http.StatusForbidden, "disconnected": http.StatusUnauthorized,
	"rate_limited": http.StatusTooManyRequests, "unavailable": http.StatusServiceUnavailable,
	"conflict": http.StatusConflict,
}

// misconfigured is the fault of a rule if the settings or the ticket system have to be changed.
const misconfigured = "misconfigured"

// matchRules returns the fault of the first rule that fits a response, or nil if none does. If that rule says
// that a field is invalid, the fault has the fields of all such rules that fit, so that a caller can correct
// them at once.
func (r *run) matchRules(ctx context.Context, s step, got answer) error {
	var invalid *fault.Error
	for _, rule := range s.rules {
		if invalid != nil && rule.field == "" {
			continue
		}
		fits, err := r.fits(ctx, rule, got)
		if err != nil {
			return err
		}
		if !fits {
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
		if f.RetryAfter == 0 {
			f.RetryAfter = rule.waits(ctx, r.judged(got))
		}
		if rule.field != "" {
			f.Reason = fault.ReasonInvalidRequest
			f.Detail = "The ticket system refuses the ticket. See the listed field."
			message := rule.message
			if message == "" {
				message = "is refused by the ticket system."
			}
			f.Fields = []fault.Field{{Path: rule.field, Message: message}}
			invalid = alsoInvalid(invalid, f) // a rule with a field is for invalid ones alone
			continue
		}
		if rule.message != "" {
			f.Detail = rule.message
		}
		return at(s, f)
	}
	if invalid != nil {
		return at(s, invalid)
	}
	return nil
}

// fits reports whether a rule is for a response. It fails if ctx ends meanwhile.
func (r *run) fits(ctx context.Context, rule rule, got answer) (bool, error) {
	if len(rule.status) > 0 && !slices.Contains(rule.status, got.status) {
		return false, nil
	}
	if rule.field != "" && !r.asks(rule.field) { // a caller cannot correct what it did not send
		return false, nil
	}
	if !rule.match.given() {
		return true, nil
	}
	fits, err := rule.match.holds(ctx, r.judged(got))
	if ctx.Err() != nil {
		return false, fault.From(ctx.Err())
	}
	return err == nil && fits, nil // no rule is for a response of another shape
}

// maxWait is the longest wait that a rule can ask for, as for a Retry-After.
const maxWait = 24 * time.Hour

// waits returns how long to wait, or zero if a response does not say: it may be of another shape.
func (u rule) waits(ctx context.Context, input map[string]any) time.Duration {
	text, err := u.wait.text(ctx, input)
	if err != nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) { // neither is NaN
		return 0
	}
	return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second))
}

// alsoInvalid returns the fault of one more rule, with the fields of those before.
func alsoInvalid(before, f *fault.Error) *fault.Error {
	if before == nil {
		return f
	}
	if all := fault.AddField(before.Fields, f.Fields[0]); len(all) > len(before.Fields) {
		before.Fields = all
		before.Detail = "The ticket system refuses the ticket. See the listed fields."
	}
	return before
}

// asks reports whether the new ticket has the field.
func (r *run) asks(field string) bool {
	ticket, _ := r.input["ticket"].(map[string]any)
	return ticket[field] != nil
}

// setUp returns the fault of a response that requires a change of the settings or of the ticket system. The
// person who verifies the connection gets the names in it. A caller does not: their text is not trusted.
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

// The limits of the names that are reported from a response. They go to a terminal, so they must not be free
// text.
const (
	maxNames      = 5
	maxNameLength = 40
)

// plainName matches the name of a field as people choose it.
var plainName = regexp.MustCompile(`\A[\p{L}\p{N}][\p{L}\p{N} _/()-]*\z`)

func (u rule) plainNames(ctx context.Context, got answer) (names []string) {
	v, err := u.names.value(ctx, got.value())
	if err != nil { // a response of another shape has none
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

// refusedSetUp returns the fault of a refusal that the caller cannot correct.
func refusedSetUp(got answer) *fault.Error {
	f := fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The ticket system refuses a request that the connection's settings make (status %d). It may "+
			"require a field that no step sets; run connection verify.",
		got.status).With("upstream_status", strconv.Itoa(got.status))
	f.Upstream = upstream.StatusFault(name, got.status, nil, got.raw).Upstream
	return f
}

// plain returns the fault of a response by its status. If a request is not valid, the settings are wrong,
// unless a rule names the field of the new ticket that is the cause. But a number to look up is the caller's.
// If a path does not exist, there is no ticket if the step looks one up, and otherwise the settings are
// wrong. They are also wrong if the step searches for a key, since a ticket that seems to be missing is
// opened again.
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

// at adds the step that failed to the fault, for whoever wrote the settings.
func at(s step, f *fault.Error) *fault.Error {
	f = f.With("step", s.label)
	f.Detail += " The step was " + s.label + "."
	return f
}

// afterActing converts an error into an UnknownOutcome fault if the ticket may exist already: the error must
// not look as if nothing had happened. If the system recognises a repeated request, a fault that a repeat may
// cure stays, so that the gateway repeats it. A refusal before the ticket was opened stays, so that the caller
// can correct what was refused. Where no repeat is recognised, a step that sent the subject counts as one that
// opened the ticket: the number may come from a later one.
func (d *driver) afterActing(ctx context.Context, r *run, err error, number string) error {
	f := fault.From(err)
	recognised := d.settings.IdempotencyHeader != ""
	curable := slices.Contains([]fault.Code{fault.Unavailable, fault.Timeout, fault.Canceled}, f.Code)
	switch {
	case curable && recognised:
		acted := *f
		acted.Unsent = false // the request before was sent
		return &acted
	case !curable && (recognised || !r.told) && !d.mayBeOpen(ctx, r):
		return err
	}
	unknown := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The ticket system accepted the ticket, but the outcome could not be read. Check in the ticket "+
			"system. "+f.Detail)
	if number != "" {
		unknown = fault.Newf(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"The ticket %s was opened, but could not be read back. Check in the ticket system. %s", number, f.Detail)
	}
	unknown.Metadata, unknown.Upstream, unknown.RetryAfter = f.Metadata, f.Upstream, f.RetryAfter
	return unknown.Because(err)
}

// mayBeOpen reports whether the steps of create that were done may have opened the ticket: none that acts is
// ahead, or they have given its number.
func (d *driver) mayBeOpen(ctx context.Context, r *run) bool {
	if !slices.ContainsFunc(r.ahead, func(s step) bool { return s.acts }) {
		return true
	}
	from := d.createNumber
	if !from.given() {
		from = d.createTicket.number
	}
	number, err := from.text(context.WithoutCancel(ctx), r.input) // what was opened stays, whoever still waits
	return err == nil && number != ""
}
