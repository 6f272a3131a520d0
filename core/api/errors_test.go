package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// TestFaultsBecomeStatuses checks the error table of the interface, row by row.
func TestFaultsBecomeStatuses(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		fault  *fault.Error
		code   int // google.rpc.Code
		v1     int
		beta   int
		reason string
		slug   string
	}{
		{fault.InvalidField("title", "is odd"), 3, 400, 422, "INVALID_REQUEST", "invalid-request"},
		{fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey, "d"), 16, 401, 401, "INVALID_API_KEY",
			"invalid-api-key"},
		{fault.New(fault.Forbidden, fault.ReasonScopeMissing, "d"), 7, 403, 403, "SCOPE_MISSING", "scope-missing"},
		{fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "d"), 7, 403, 403, "PROVIDER_PERMISSION_DENIED",
			"provider-permission-denied"},
		{fault.New(fault.NotFound, fault.ReasonEventNotFound, "d"), 5, 404, 404, "EVENT_NOT_FOUND",
			"event-not-found"},
		{fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "d"), 5, 404, 404, "CALENDAR_NOT_FOUND",
			"calendar-not-found"},
		{fault.New(fault.NotFound, fault.ReasonTicketNotFound, "d"), 5, 404, 404, "TICKET_NOT_FOUND",
			"ticket-not-found"},
		{fault.New(fault.Conflict, fault.ReasonTicketIncomplete, "d"), 9, 409, 409, "TICKET_INCOMPLETE",
			"ticket-incomplete"},
		{fault.New(fault.NotFound, fault.ReasonNumberNotFound, "d"), 5, 404, 404, "PHONE_NUMBER_NOT_FOUND",
			"phone-number-not-found"},
		{fault.New(fault.Disconnected, fault.ReasonNotConnected, "d"), 9, 400, 400, "NOT_CONNECTED",
			"not-connected"},
		{fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "d"), 9, 400, 400, "RECONNECT_REQUIRED",
			"reconnect-required"},
		{fault.New(fault.Conflict, fault.ReasonSlotTaken, "d"), 10, 409, 409, "SLOT_TAKEN", "slot-taken"},
		{fault.New(fault.NotFound, fault.ReasonSlotNotFound, "d"), 5, 404, 404, "SLOT_NOT_FOUND", "slot-not-found"},
		{fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "d"), 10, 409, 409, "CHANGED_MEANWHILE",
			"changed-meanwhile"},
		{fault.New(fault.Conflict, fault.ReasonNumberTaken, "d"), 10, 409, 409, "NUMBER_TAKEN", "number-taken"},
		{fault.New(fault.Conflict, fault.ReasonIdempotencyReused, "d"), 9, 400, 422, "IDEMPOTENCY_KEY_REUSED",
			"idempotency-key-reused"},
		{fault.New(fault.Conflict, fault.ReasonIdempotencyRunning, "d"), 10, 409, 409, "IDEMPOTENCY_IN_PROGRESS",
			"idempotency-in-progress"},
		{fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, "d"), 10, 409, 409, "OUTCOME_UNKNOWN",
			"outcome-unknown"},
		{fault.New(fault.RateLimited, fault.ReasonRateLimited, "d"), 8, 429, 429, "RATE_LIMITED", "rate-limited"},
		{fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "d"), 8, 429, 429, "PROVIDER_RATE_LIMITED",
			"provider-rate-limited"},
		{fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "d"), 14, 503, 503, "PROVIDER_UNAVAILABLE",
			"provider-unavailable"},
		{fault.New(fault.Unavailable, fault.ReasonBreakerOpen, "d"), 14, 503, 503, "BREAKER_OPEN", "breaker-open"},
		{fault.New(fault.Unavailable, fault.ReasonOverloaded, "d"), 14, 503, 503, "OVERLOADED", "overloaded"},
		{fault.New(fault.Unavailable, fault.ReasonStoreUnavailable, "d"), 14, 503, 503, "STORE_UNAVAILABLE",
			"store-unavailable"},
		{fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, "d"), 4, 504, 504, "DEADLINE_EXCEEDED",
			"deadline-exceeded"},
		{fault.New(fault.Exhausted, fault.ReasonTooManyEvents, "d"), 11, 400, 400, "TOO_MANY_EVENTS",
			"too-many-events"},
		{fault.New(fault.Exhausted, upstream.ReasonAnswerTooLarge, "d"), 8, 409, 409, "PROVIDER_ANSWER_TOO_LARGE",
			"provider-answer-too-large"},
		{fault.New(fault.UnknownOutcome, fault.ReasonOrderPending, "d"), 10, 409, 409, "ORDER_PENDING",
			"order-pending"},
		{fault.New(fault.Exhausted, fault.ReasonPurchaseLimit, "d"), 8, 429, 429, "PURCHASE_LIMIT_REACHED",
			"purchase-limit-reached"},
		{fault.New(fault.Exhausted, fault.ReasonNumberLimit, "d"), 8, 409, 409, "NUMBER_LIMIT_REACHED",
			"number-limit-reached"},
		{fault.New(fault.Conflict, fault.ReasonAddressRequired, "d"), 9, 409, 409, "ADDRESS_REQUIRED",
			"address-required"},
		{fault.New(fault.Conflict, fault.ReasonBundleRequired, "d"), 9, 409, 409, "REGULATORY_DOCUMENTS_REQUIRED",
			"regulatory-documents-required"},
		{fault.New(fault.Exhausted, fault.ReasonTrialLimit, "d"), 9, 409, 409, "TRIAL_ACCOUNT_LIMIT",
			"trial-account-limit"},
		{fault.New(fault.Exhausted, fault.ReasonInsufficientFunds, "d"), 9, 402, 402, "INSUFFICIENT_FUNDS",
			"insufficient-funds"},
		{fault.New(fault.Forbidden, fault.ReasonAccountSuspended, "d"), 7, 403, 403, "ACCOUNT_SUSPENDED",
			"account-suspended"},
		{fault.New(fault.Conflict, fault.ReasonEmergencyAddress, "d"), 9, 409, 409, "EMERGENCY_ADDRESS_REGISTERED",
			"emergency-address-registered"},
		{fault.New(fault.Conflict, fault.ReasonNumberLocked, "d"), 9, 409, 409, "NUMBER_LOCKED", "number-locked"},
		{fault.New(fault.Exhausted, fault.ReasonNoNumbersAvailable, "d"), 8, 409, 409, "NO_NUMBERS_AVAILABLE",
			"no-numbers-available"},
		{fault.New(fault.Unsupported, fault.ReasonConferencing, "d"), 9, 400, 400, "CONFERENCING_UNAVAILABLE",
			"conferencing-unavailable"},
		{fault.New(fault.Unsupported, fault.ReasonNotSupported, "d"), 9, 400, 400, "NOT_SUPPORTED",
			"not-supported"},
		{fault.New(fault.Forbidden, fault.ReasonEgressRefused, "d"), 9, 400, 400, "ADDRESS_REFUSED",
			"address-refused"},
		{fault.New(fault.Invalid, fault.ReasonProviderMisconfigured, "d"), 9, 400, 400, "PROVIDER_MISCONFIGURED",
			"provider-misconfigured"},
		{fault.New(fault.Invalid, fault.ReasonProviderRefused, "d"), 3, 400, 422, "PROVIDER_REFUSED",
			"provider-refused"},
		{fault.New(fault.Exhausted, fault.ReasonStorageFull, "d"), 8, 409, 409, "PROVIDER_STORAGE_FULL",
			"provider-storage-full"},
		{fault.New(fault.Unsupported, fault.ReasonProviderRefused, "d"), 9, 400, 400, "PROVIDER_REFUSED",
			"not-supported"},
		{fault.New(fault.Conflict, fault.ReasonProviderConflict, "d"), 10, 409, 409, "PROVIDER_CONFLICT",
			"provider-conflict"},
		{fault.New(fault.Canceled, fault.ReasonCanceled, "d"), 1, 499, 499, "CANCELED", "canceled"},
		{fault.New(fault.Internal, fault.ReasonInternal, "d"), 13, 500, 500, "INTERNAL", "internal"},
		{fault.New(fault.NotFound, "CONTACT_NOT_FOUND", "d"), 5, 404, 404, "CONTACT_NOT_FOUND", "not-found"},
		{fault.New(fault.Exhausted, "PLAN_LIMIT", "d"), 8, 409, 409, "PLAN_LIMIT", "exhausted"},
		{fault.New(fault.Unavailable, "", "d"), 14, 503, 503, "PROVIDER_UNAVAILABLE", "provider-unavailable"},
		{fault.New(fault.Code("new"), "ANY", "d"), 13, 500, 500, "INTERNAL", "internal"},
		{fault.New(fault.Internal, fault.ReasonSlotTaken, "d"), 13, 500, 500, "INTERNAL", "internal"},
	} {
		g.err = c.fault
		a := g.post(calendarsPath, "")
		e := a.v1()
		if a.status != c.v1 || e.Code != c.code || e.reason() != c.reason {
			t.Errorf("%v on v1: %d, code %d, %s", c.fault, a.status, e.Code, e.reason())
		}
		b := g.send(http.MethodGet, numbersPath, "")
		p := b.problem()
		if b.status != c.beta || p.Status != int64(c.beta) || p.slug() != c.slug {
			t.Errorf("%v on beta: %d %+v", c.fault, b.status, p)
		}
	}
}

func TestEveryV1ErrorCarriesItsStandardDetails(t *testing.T) {
	g := startGateway(t)
	g.err = fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
		"The provider refuses the credentials.").With("provider", "caldav").With("Bad Key", "x")
	a := g.post(calendarsPath, "")
	e := a.v1()
	info := e.detail("ErrorInfo")
	metadata, _ := info["metadata"].(map[string]any)
	if info["domain"] != "frontdesk" || metadata["provider"] != "caldav" ||
		metadata["operation"] != "listCalendars" || metadata["Bad Key"] != nil {
		t.Errorf("ErrorInfo %v", info)
	}
	if localized := e.detail("LocalizedMessage"); localized["locale"] != "en-US" || localized["message"] == "" {
		t.Errorf("LocalizedMessage %v", localized)
	}
	if e.detail("RequestInfo")["requestId"] != fixedID {
		t.Errorf("RequestInfo %v", e.detail("RequestInfo"))
	}
	if links := fmt.Sprint(e.detail("Help")["links"]); !strings.Contains(links,
		publicURL+"/problems/reconnect-required") {
		t.Errorf("Help %v", links)
	}
	if e.detail("RetryInfo") != nil || a.header.Get("Retry-After") != "" {
		t.Error("a repeat is suggested where only a person can help")
	}
	if e.Message != "The provider refuses the credentials." {
		t.Errorf("message %q", e.Message)
	}
}

func TestHelpLeadsToTheSettingsFirst(t *testing.T) {
	g := startGateway(t, func(o *Options) { o.SettingsURL = publicURL + "/settings" })
	g.err = fault.New(fault.Disconnected, fault.ReasonNotConnected, "d")
	links, _ := g.post(calendarsPath, "").v1().detail("Help")["links"].([]any)
	if first, _ := links[0].(map[string]any); len(links) != 2 || first["url"] != publicURL+"/settings" {
		t.Errorf("links %v", links)
	}
}

func TestRetryAfterAndRetryInfoTellTheSameDelay(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		known time.Duration
		want  string
	}{{1500 * time.Millisecond, "2"}, {time.Minute, "60"}, {0, "5"}} {
		g.err = &fault.Error{
			Code: fault.RateLimited, Reason: fault.ReasonProviderRateLimited, Detail: "d", RetryAfter: c.known,
		}
		a := g.post(calendarsPath, "")
		if a.header.Get("Retry-After") != c.want || a.v1().detail("RetryInfo")["retryDelay"] != c.want+"s" {
			t.Errorf("%v: Retry-After %q, %v", c.known, a.header.Get("Retry-After"), a.v1().detail("RetryInfo"))
		}
		if b := g.send(http.MethodGet, numbersPath, ""); b.header.Get("Retry-After") != c.want {
			t.Errorf("%v on beta: Retry-After %q", c.known, b.header.Get("Retry-After"))
		}
	}
}

func TestProblemsNameTheirOccurrence(t *testing.T) {
	g := startGateway(t)
	p := g.send(http.MethodGet, numbersPath+"/x", "", "X-Request-Id", "call 7/a").problem()
	if p.Instance != "urn:frontdesk:request:"+fixedID {
		t.Errorf("an id with a space is not echoed: %q", p.Instance)
	}
	p = g.send(http.MethodGet, numbersPath+"/x", "", "X-Request-Id", "call/7%").problem()
	if p.Instance != "urn:frontdesk:request:call%2F7%25" {
		t.Errorf("instance %q", p.Instance)
	}
}

func TestNothingOfACauseIsShown(t *testing.T) {
	g := startGateway(t)
	const secret = "refresh_token=s3cr3t"
	for rule, err := range map[string]error{
		"an error that is no fault": errors.New(secret),
		"a fault's cause": fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "d").
			Because(errors.New(secret)),
		"what the provider said": &fault.Error{
			Code: fault.Unavailable, Reason: fault.ReasonProviderUnavailable, Detail: "d", Upstream: secret,
		},
		"the detail of a defect": fault.New(fault.Internal, fault.ReasonInternal, secret),
		"the fields of a defect": &fault.Error{
			Code: fault.Internal, Reason: fault.ReasonInternal, Fields: []fault.Field{{Path: secret}},
		},
		"the metadata of a defect": fault.New(fault.Internal, fault.ReasonInternal, "d").With("cause", secret),
		"a fault that wraps a defect": fmt.Errorf("%s: %w", secret,
			fault.New(fault.NotFound, fault.ReasonEventNotFound, "d")),
		"an ended context with a text": fmt.Errorf("%s: %w", secret, context.DeadlineExceeded),
	} {
		g.err = err
		for _, a := range []answer{g.post(calendarsPath, ""), g.send(http.MethodGet, numbersPath, "")} {
			if strings.Contains(a.body, "s3cr3t") || strings.Contains(fmt.Sprint(a.header), "s3cr3t") {
				t.Errorf("%s: %s", rule, a.body)
			}
		}
	}
}

func TestAnErrorThatIsNoFaultIsInternalAndLogged(t *testing.T) {
	g := startGateway(t)
	g.err = errors.New("the flux capacitor is empty")
	if a := g.post(calendarsPath, ""); a.status != http.StatusInternalServerError ||
		a.v1().reason() != "INTERNAL" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if log := g.log.String(); !strings.Contains(log, "flux capacitor") ||
		!strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("log %s", log)
	}
}

func TestABodyOfAnErrorIsTheSameEveryTime(t *testing.T) {
	g := startGateway(t)
	g.err = fault.New(fault.NotFound, fault.ReasonEventNotFound, "d").With("a", "1").With("b", "2")
	first := g.post(calendarsPath, "").body
	for range 50 {
		if again := g.post(calendarsPath, "").body; again != first {
			t.Fatalf("%s, then %s", first, again)
		}
	}
	if strings.Contains(first, `": `) || strings.Contains(first, `, "`) {
		t.Errorf("blanks: %s", first)
	}
}

// TestTheErrorTableIsWritten compares every error in both styles with the golden files.
func TestTheErrorTableIsWritten(t *testing.T) {
	a, err := newAPI(Options{PublicURL: publicURL})
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range []surface{surfaceV1, surfaceBeta} {
		var b bytes.Buffer
		for _, s := range a.catalogue.all {
			fmt.Fprintf(&b, "%s %d\n", s.Reason, s.status(on))
			if err := json.Indent(&b, a.sample(s, on), "", "  "); err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n\n")
		}
		golden(t, "errors."+string(on)+".golden", b.Bytes())
	}
}

func TestTheTableIsComplete(t *testing.T) {
	slugs := map[string]string{}
	for _, s := range problemTypes() {
		if s.Reason == "" || s.Code == 0 || s.Status == 0 || s.Slug == "" || s.Title == "" || s.Spoken == "" ||
			s.Sample == "" || s.Means == "" || s.Remedy == "" {
			t.Errorf("%s leaves something out: %+v", s.Reason, s)
		}
		if other := slugs[s.Slug]; other != "" {
			t.Errorf("%s and %s have one slug", s.Reason, other)
		}
		slugs[s.Slug] = s.Reason
	}
	c := newCatalogue()
	for code, reason := range c.byCode {
		if _, known := c.byReason[reason]; !known {
			t.Errorf("the reason of %s is not in the table", code)
		}
	}
	for _, reason := range sharedReasons(t) {
		if _, known := c.byReason[reason]; !known {
			t.Errorf("%s has no row", reason)
		}
	}
	for _, op := range operations(Services{}) {
		for _, reason := range op.reasons() {
			if _, known := c.byReason[reason]; !known {
				t.Errorf("%s: %s is not in the table", op.ID, reason)
			}
		}
	}
}

// sharedReasons returns the constants of core/fault that begin with Reason.
func sharedReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "fault", "fault.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		reason, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, reason)
		return true
	})
	if len(reasons) < 30 {
		t.Fatalf("only %d reasons are found", len(reasons))
	}
	return reasons
}

func TestInputFaultsOfAUseCaseAreToldInTheMessage(t *testing.T) {
	g := startGateway(t)
	g.err = fault.InvalidFields(fault.Field{
		Path: "status", Message: "is none of the CRM's labels: New, Closed.", Hint: "New",
	})
	want := "The request is not valid: status is none of the CRM's labels: New, Closed; did you mean New?"
	if got := g.post(createPath, `{"subject":"s"}`).v1().Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
