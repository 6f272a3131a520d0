package telephonytest

import (
	"context"
	"fmt"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

// routeChecks returns the clauses on Route and Routing.
func routeChecks() []Check {
	return []Check{
		{Name: "Route answers where the settings lead a number, or that they do not say", Harmless: true,
			Do: routeFollowsSettings},
		{Name: "Route answers the same each time", Harmless: true, Do: routeIsStable},
		{Name: "Route costs nothing to ask", Harmless: true, Bound: provides[conformance.CallCounter],
			Do: routeCostsNothing},
	}
}

// The employee and the number of Harness.Leads.
const (
	employee = 7
	answered = "+14155550100"
)

func routeFollowsSettings(_ context.Context, h Harness) error {
	got, isRouted := h.Open().Route(employee, answered)
	if isRouted != (h.Leads != telephony.Routing{}) || got != h.Leads {
		return fmt.Errorf("Route answered %+v, %t, want %+v", got, isRouted, h.Leads)
	}
	if strings.Contains(got.VoiceURL, answered) {
		return fmt.Errorf("Route answered %q, where the plus of the number is a space", got.VoiceURL)
	}
	return nil
}

func routeIsStable(_ context.Context, h Harness) error {
	d := h.Open()
	before, _ := d.Route(employee, answered)
	d.Route(employee+1, "+14155550101") // must not affect later calls
	for range 2 {
		if again, _ := d.Route(employee, answered); again != before {
			return fmt.Errorf("Route answered %+v, and then %+v", before, again)
		}
	}
	if other, _ := h.Open().Route(employee, answered); other != before {
		return fmt.Errorf("Route of a driver opened afresh answered %+v, want %+v", other, before)
	}
	return nil
}

func routeCostsNothing(_ context.Context, h Harness) error {
	d, counter := h.Open(), h.Provider.(conformance.CallCounter)
	before := counter.Calls()
	d.Route(employee, answered)
	if asked := counter.Calls() - before; asked != 0 {
		return fmt.Errorf("Route called the provider %d times", asked)
	}
	return nil
}
