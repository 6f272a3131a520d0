package admin

import (
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/requestlog"
	"frontdesk/core/telemetry"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// request is a request so many minutes before noon.
func request(minutes int, status int, reason, outcome string) requestlog.Entry {
	e := requestlog.Entry{
		At: noon.Add(-time.Duration(minutes) * time.Minute), Status: status, Reason: reason,
		Took: time.Duration(minutes) * time.Millisecond,
	}
	if outcome != "" {
		e.Tries = []telemetry.Try{{Outcome: outcome}}
	}
	return e
}

func good(minutes int) requestlog.Entry { return request(minutes, 200, "", "ok") }

func bad(minutes int) requestlog.Entry {
	return request(minutes, 503, fault.ReasonProviderUnavailable, "unavailable")
}

func TestHealth(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	none := time.Time{}
	for name, c := range map[string]struct {
		status        string
		entries       []requestlog.Entry // the newest first
		state, reason string
		since         time.Time
		success, last time.Time
	}{
		"no requests": {"ok", nil, HealthUnknown, "", none, none, none},
		"it works":    {"ok", []requestlog.Entry{good(1), good(5)}, HealthOK, "", at(5), at(1), none},
		"it works again": {"ok", []requestlog.Entry{good(1), good(2), bad(5), good(9)}, HealthOK, "", at(2),
			at(1), at(5)},
		"it fails": {"ok", []requestlog.Entry{bad(1), bad(2), good(5), bad(9)}, HealthFailing,
			fault.ReasonProviderUnavailable, at(2), at(5), at(1)},
		"it always failed": {"ok", []requestlog.Entry{bad(1), bad(2)}, HealthFailing,
			fault.ReasonProviderUnavailable, at(2), none, at(1)},
		"kept from it": {"ok", []requestlog.Entry{request(1, 503, fault.ReasonBreakerOpen, ""), good(2)},
			HealthFailing, fault.ReasonBreakerOpen, at(1), at(2), at(1)},
		"reconnect, met": {"reconnect_required", []requestlog.Entry{request(1, 403,
			fault.ReasonReconnectRequired, ""), good(3)}, HealthReconnect, fault.ReasonReconnectRequired, at(1), at(3), at(1)},
		"reconnect, not met": {"reconnect_required", []requestlog.Entry{good(3)}, HealthReconnect,
			fault.ReasonReconnectRequired, none, at(3), none},
		"reconnected since": {"ok", []requestlog.Entry{request(1, 403, fault.ReasonReconnectRequired, ""),
			good(3)}, HealthUnknown, "", none, at(3), at(1)},
		"reconnected and used": {"ok", []requestlog.Entry{good(1),
			request(2, 403, fault.ReasonReconnectRequired, ""), good(3)}, HealthOK, "", at(1), at(1), at(2)},
		"only the gateway": {"ok", []requestlog.Entry{request(1, 422, fault.ReasonInvalidRequest, ""),
			request(2, 503, fault.ReasonStoreUnavailable, "")}, HealthUnknown, "", none, none, none},
		"about one record": {"ok", []requestlog.Entry{request(1, 404, fault.ReasonEventNotFound, "not_found")},
			HealthOK, "", at(1), at(1), none},
		"store after provider": {"ok", []requestlog.Entry{request(1, 503, fault.ReasonStoreUnavailable, "ok")},
			HealthOK, "", at(1), at(1), none},
		"limited by the other": {"ok", []requestlog.Entry{request(1, 429, fault.ReasonProviderRateLimited,
			"rate_limited")}, HealthFailing, fault.ReasonProviderRateLimited, at(1), none, at(1)},
		"settings lead nowhere": {"ok", []requestlog.Entry{request(1, 502, fault.ReasonProviderMisconfigured,
			"unavailable")}, HealthFailing, fault.ReasonProviderMisconfigured, at(1), none, at(1)},
	} {
		t.Run(name, func(t *testing.T) {
			got := healthOf(Connection{Status: c.status}, c.entries, noon)
			is := func(p *time.Time) time.Time {
				if p == nil {
					return none
				}
				return *p
			}
			if got.State != c.state || got.Reason != c.reason || !is(got.Since).Equal(c.since) ||
				!is(got.LastSuccessAt).Equal(c.success) || !is(got.LastFailureAt).Equal(c.last) {
				t.Errorf("got %+v since %v, success %v, failure %v", got, is(got.Since), is(got.LastSuccessAt),
					is(got.LastFailureAt))
			}
			if got.Advice == "" {
				t.Error("nothing is advised")
			}
		})
	}
}

func TestTheLastHour(t *testing.T) {
	got := healthOf(Connection{Status: "ok"}, []requestlog.Entry{
		good(1), bad(1), good(1), good(30), request(31, 422, fault.ReasonInvalidRequest, ""), bad(59), good(60),
	}, noon.Add(30*time.Second)).LastHour
	if got.Requests != 5 || got.Failed != 2 || got.P50Ms != 1 || got.P95Ms != 59 || len(got.Minutes) != 3 {
		t.Fatalf("the hour is %+v", got)
	}
	for i, want := range []Minute{
		{noon.Add(-59 * time.Minute), 1, 1, 59}, {noon.Add(-30 * time.Minute), 1, 0, 30},
		{noon.Add(-time.Minute), 3, 1, 1},
	} {
		if got.Minutes[i] != want {
			t.Errorf("minute %d is %+v, want %+v", i, got.Minutes[i], want)
		}
	}
	if empty := hourOf(nil); empty.P95Ms != 0 || empty.Minutes == nil {
		t.Errorf("an hour without requests is %+v", empty)
	}
}
