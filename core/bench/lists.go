package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"frontdesk/core/record"
)

const (
	listPath    = "/v1/calendar/list-events"
	slotsPath   = "/alpha/calendar/find-slots"
	roundTrip   = 50 * time.Millisecond // of a provider that is near
	manyCallers = 16
)

// listBody asks for the events of calendars.
func listBody(ids ...string) string {
	return fmt.Sprintf(`{"start_time":%q,"end_time":%q,"selected_calendar_ids":%s}`, windowStart, windowEnd,
		quoted(ids))
}

func quoted(ids []string) string { return `["` + strings.Join(ids, `","`) + `"]` }

// tenCalendars returns the ids of ten calendars at a provider.
func (b *bench) tenCalendars(provider string) []string {
	if provider == "microsoft" {
		return b.provider.boxes[:calendars]
	}
	var ids []string
	for i := range calendars {
		ids = append(ids, calendarID(i))
	}
	return ids
}

// served is a gateway of a deployment.
type served struct {
	name string
	*deployment
	*process
}

// gateways serves a deployment of each binary. Each has been asked once with each key, so that tokens,
// connections and caches are there.
func (b *bench) gateways(
	ctx context.Context, s scenario, binaries binaries, what plan, warm string,
) (all []served, stop func(), err error) {
	stop = func() {
		for _, g := range all {
			g.stop()
		}
	}
	for _, each := range binaries {
		dir := filepath.Join(b.dir, s.name+"-"+each.name+"-"+what.provider)
		if what.settings.PreventDoubleBooking {
			dir += "-prevent"
		}
		d, err := deploy(ctx, each.path, dir, b.provider, what)
		if err != nil {
			stop()
			return nil, nil, err
		}
		g, err := d.serve(ctx)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all = append(all, served{each.name, d, g})
		for _, key := range d.keys {
			var answer record.EventsAnswer
			if err := ask(ctx, g, listPath, key, warm, &answer); err != nil {
				stop()
				return nil, nil, err
			}
			if len(answer.Events) == 0 {
				stop()
				return nil, nil, fmt.Errorf("no events are listed")
			}
		}
	}
	return all, stop, nil
}

// baselinesOf starts the baselines of a list that the gateway made last. They are asked at a path.
func (b *bench) baselinesOf(
	ctx context.Context, path, body string, kinds ...string,
) (all []target, stop func(), err error) {
	var request string
	var access struct {
		Token string `json:"access_token"`
	}
	if err := b.provider.ask(ctx, "/last", &request); err != nil {
		return nil, nil, err
	}
	if err := b.provider.ask(ctx, "/access", &access); err != nil {
		return nil, nil, err
	}
	if request, err = wholePage(request); err != nil {
		return nil, nil, err
	}
	var started []*process
	stop = func() {
		for _, p := range started {
			p.kill()
		}
	}
	for _, kind := range kinds {
		var p *process
		base := "https://" + b.provider.at["api"]
		if kind == nodeBaseline {
			p, err = startNode(ctx, b.dir, b.modules, base, request, access.Token)
		} else {
			p, err = part(ctx, kind, "-dir", b.dir, "-provider", base, "-request", request, "-token",
				access.Token)
		}
		if err != nil {
			stop()
			return nil, nil, err
		}
		started = append(started, p)
		all = append(all, repeating(kind, p, http.StatusOK, path, "none", body))
	}
	return all, stop, nil
}

// repeating returns a target that gets the same request again and again, and answers with a status.
func repeating(name string, p *process, status int, path, key, body string) target {
	address := p.at["api"]
	return target{name: name, pid: p.pid(), open: dial(address, status, func(buffer []byte, _ int64) []byte {
		return post(buffer, address, path, key, body)
	})}
}

// wholePage returns a request for the first page of a list, which is as long as can be.
func wholePage(request string) (string, error) {
	at, err := url.Parse(request)
	if err != nil {
		return "", err
	}
	q := at.Query()
	if q.Has("pageToken") {
		q.Del("pageToken")
		q.Set("maxResults", fmt.Sprint(fullEvents))
	}
	at.RawQuery = q.Encode()
	return at.String(), nil
}

// list measures list-events of ten events.
func list(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	// More than one tenant, so that the limit of concurrent calls of a connection does not hold callers up.
	microsoft, stopMicrosoft, err := b.gateways(ctx, s, b.binaries, plan{tenants: 4, provider: "microsoft"},
		listBody(b.provider.boxes[0]))
	if err != nil {
		return err
	}
	defer stopMicrosoft()
	body := listBody(calendarID(0))
	google, stop, err := b.gateways(ctx, s, b.binaries, plan{tenants: 4, provider: "google"}, body)
	if err != nil {
		return err
	}
	defer stop()
	kinds := []string{"floor", "proxy", "client"}
	if b.hasNode() {
		kinds = append(kinds, nodeBaseline)
	}
	targets, stopBaselines, err := b.baselinesOf(ctx, listPath, body, kinds...)
	if err != nil {
		return err
	}
	defer stopBaselines()
	var subjects []string
	for _, g := range google {
		targets = append(targets, g.calls(g.name, g.process, listPath, always(body)))
		subjects = append(subjects, g.name)
	}
	for _, g := range microsoft {
		name := g.name + " at Microsoft"
		targets = append(targets, g.calls(name, g.process, listPath, always(listBody(b.provider.boxes[0]))))
		subjects = append(subjects, name)
	}
	subjects = append(subjects, kinds...)
	var open, one, many []measure
	for _, t := range targets {
		open, one, many = append(open, b.open(t)), append(one, b.closed(t, 1)), append(many,
			b.closed(t, manyCallers))
	}
	const floor = "floor"
	opened, err := b.interleave(ctx, open...)
	if err != nil {
		return err
	}
	b.report.compare(s.name, "p50", microseconds, subjects, floor, opened, p50)
	b.report.compare(s.name, "p99", microseconds, subjects, floor, opened, p99)
	alone, err := b.interleave(ctx, one...)
	if err != nil {
		return err
	}
	b.report.compare(s.name, "p50 of one caller", microseconds, subjects, floor, alone, p50)
	pressed, err := b.interleave(ctx, many...)
	if err != nil {
		return err
	}
	b.report.compare(s.name, "CPU per request", microseconds, subjects, floor, pressed, cpu)
	b.report.compare(s.name, "throughput", perSecond, subjects, floor, pressed, rate)
	if len(google) > 1 {
		names := []string{google[0].name, google[1].name}
		b.report.compare(s.name, "p50 of one caller, compared", microseconds, names, names[0], alone, p50)
		b.report.compare(s.name, "CPU per request, compared", microseconds, names, names[0], pressed, cpu)
		b.report.compare(s.name, "throughput, compared", perSecond, names, names[0], pressed, rate)
	}
	b.report.bars(plot{
		file: "bench-latency.svg", title: "list-events of 10 events at 200 requests a second: median latency",
		unit: microseconds,
	}, s.name, "p50", subjects)
	b.report.bars(plot{
		file: "bench-cpu.svg", title: "list-events of 10 events: processor time per request",
		unit: microseconds,
	}, s.name, "CPU per request", subjects)
	return nil
}

// full measures a list that is as long as one may be.
func full(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, roundTrip, true); err != nil {
		return err
	}
	for _, provider := range []string{"google", "microsoft"} {
		long, short := fullCalendar, calendarID(0)
		if provider == "microsoft" {
			long, short = b.provider.boxes[calendars], b.provider.boxes[0]
		}
		gateways, stop, err := b.gateways(ctx, s, b.binaries, plan{tenants: 1, provider: provider}, listBody(long))
		if err != nil {
			return err
		}
		var measures []measure
		var subjects []string
		if provider == "google" {
			baselines, stopBaselines, err := b.baselinesOf(ctx, listPath, listBody(long), "client")
			if err != nil {
				stop()
				return err
			}
			defer stopBaselines()
			measures = append(measures, b.sequence(baselines[0]))
			subjects = append(subjects, "client")
		}
		for _, g := range gateways {
			all := g.name + " at " + provider
			one := all + ", ten events"
			measures = append(measures,
				b.sequence(g.calls(all, g.process, listPath, always(listBody(long)))),
				b.sequence(g.calls(one, g.process, listPath, always(listBody(short)))))
			subjects = append(subjects, all, one)
		}
		samples, err := b.interleave(ctx, measures...)
		stop()
		if err != nil {
			return err
		}
		base := gateways[0].name + " at " + provider + ", ten events"
		b.report.compare(s.name, "p50", milliseconds, subjects, base, samples, inMilli)
		b.report.compare(s.name, "CPU per request", milliseconds, subjects, base, samples, cpuInMilli)
		if provider == "google" { // the library is compared with all the events, too
			b.report.compare(s.name, "p50 of 2,500 events", milliseconds, subjects[:2], "client", samples,
				inMilli)
			b.report.compare(s.name, "CPU of 2,500 events", milliseconds, subjects[:2], "client", samples,
				cpuInMilli)
		}
	}
	return nil
}

// wide measures a call of ten calendars, by one caller and by eight at once.
func wide(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, roundTrip, true); err != nil {
		return err
	}
	for _, provider := range []string{"google", "microsoft"} {
		ids := b.tenCalendars(provider)
		gateways, stop, err := b.gateways(ctx, s, b.binaries, plan{tenants: 1, provider: provider}, listBody(ids...))
		if err != nil {
			return err
		}
		var measures []measure
		var subjects []string
		for _, g := range gateways {
			one, ten := g.name+" at "+provider+", one calendar", g.name+" at "+provider+", ten calendars"
			eight := ten + ", eight callers"
			measures = append(measures,
				b.sequence(g.calls(one, g.process, listPath, always(listBody(ids[0])))),
				b.sequence(g.calls(ten, g.process, listPath, always(listBody(ids...)))),
				b.closed(g.calls(eight, g.process, listPath, always(listBody(ids...))), 8))
			subjects = append(subjects, one, ten, eight)
		}
		samples, err := b.interleave(ctx, measures...)
		stop()
		if err != nil {
			return err
		}
		b.report.compare(s.name, "p50", milliseconds, subjects, subjects[0], samples, inMilli)
	}
	return nil
}

// slots measures find-slots against the floor, which asks the same of the provider and computes nothing.
func slots(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	gateways, stop, err := b.gateways(ctx, s, b.binaries, plan{tenants: 4, provider: "google"}, listBody(calendarID(0)))
	if err != nil {
		return err
	}
	defer stop()
	const asked = `{"start":"2027-03-01T00:00:00Z","end":"2027-03-06T00:00:00Z","calendar_ids":[%q]}`
	baselines, stopBaselines, err := b.baselinesOf(ctx, "/free", fmt.Sprintf(asked, calendarID(0)), "floor")
	if err != nil {
		return err
	}
	defer stopBaselines()
	floor := baselines[0]
	body := `{"start":"2027-03-01","end":"2027-03-06","calendar_ids":["` + calendarID(0) + `"]}`
	subjects := []string{floor.name}
	open, many := []measure{b.open(floor)}, []measure{b.closed(floor, manyCallers)}
	for _, g := range gateways {
		t := g.calls(g.name, g.process, slotsPath, always(body))
		open, many = append(open, b.open(t)), append(many, b.closed(t, manyCallers))
		subjects = append(subjects, g.name)
	}
	opened, err := b.interleave(ctx, open...)
	if err != nil {
		return err
	}
	pressed, err := b.interleave(ctx, many...)
	if err != nil {
		return err
	}
	b.report.compare(s.name, "p50", microseconds, subjects, floor.name, opened, p50)
	b.report.compare(s.name, "p99", microseconds, subjects, floor.name, opened, p99)
	b.report.compare(s.name, "CPU per request", microseconds, subjects, floor.name, pressed, cpu)
	return nil
}
