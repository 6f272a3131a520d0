package telephonytest

import (
	"context"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

func routeMutants() []conformance.Mutant[Harness] {
	const (
		follows = "Route answers where the settings lead a number, or that they do not say"
		stable  = "Route answers the same each time"
		costs   = "Route costs nothing to ask"
	)
	answers := func(
		how string, answer func(employee int64, e164 string) (telephony.Routing, bool),
	) conformance.Mutant[Harness] {
		return mutate(follows, how, func(telephony.Driver) mutant { return mutant{route: answer} })
	}
	return []conformance.Mutant[Harness]{
		answers("does not know its settings",
			func(int64, string) (telephony.Routing, bool) { return telephony.Routing{}, false }),
		answers("says nowhere, as if the settings did",
			func(int64, string) (telephony.Routing, bool) { return telephony.Routing{}, true }),
		answers("takes every number for one", func(employee int64, _ string) (telephony.Routing, bool) {
			return telephony.Routing{VoiceURL: telephony.VoiceURL(template, employee, "+14155550101")}, true
		}),
		answers("takes every employee for one", func(_ int64, e164 string) (telephony.Routing, bool) {
			return telephony.Routing{VoiceURL: telephony.VoiceURL(template, 1, e164)}, true
		}),
		answers("sets several kinds", func(employee int64, e164 string) (telephony.Routing, bool) {
			return telephony.Routing{VoiceURL: telephony.VoiceURL(template, employee, e164), SIPTrunk: "TK1"}, true
		}),
		{Check: follows, How: "writes the plus as it is, and the harness too", Mutate: func(h Harness) Harness {
			d := h.Open()
			h.Leads.VoiceURL = strings.ReplaceAll(voiceURL, "%2B", "+")
			l := mutant{Driver: d, route: func(int64, string) (telephony.Routing, bool) { return h.Leads, true }}
			h.Open = func() telephony.Driver { return l }
			return h
		}},
		mutate(stable, "remembers the one before", func(d telephony.Driver) mutant {
			latest := int64(employee)
			return mutant{route: func(employee int64, e164 string) (telephony.Routing, bool) {
				defer func() { latest = employee }()
				return d.Route(latest, e164)
			}}
		}),
		{Check: stable, How: "differs from driver to driver", Mutate: func(h Harness) Harness {
			d, opened := h.Open(), int64(0)
			h.Open = func() telephony.Driver {
				opened++
				mine := opened
				return mutant{
					Driver: d, route: func(_ int64, e164 string) (telephony.Routing, bool) { return d.Route(mine, e164) },
				}
			}
			return h
		}},
		mutate(costs, "asks the provider", func(d telephony.Driver) mutant {
			return mutant{route: func(employee int64, e164 string) (telephony.Routing, bool) {
				_, _ = d.Account(context.Background())
				return d.Route(employee, e164)
			}}
		}),
	}
}
