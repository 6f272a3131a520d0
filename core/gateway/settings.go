package gateway

import (
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/api"
	"frontdesk/core/guard"
	"frontdesk/core/tenant"
)

// guardOptions are the configuration's part of the guard.
func guardOptions(cfg config.Config, g *Gateway) guard.Options {
	r := cfg.Resilience
	return guard.Options{
		Deadline: r.Deadline, TryTimeout: r.TryTimeout, WriteGrace: r.WriteGrace,
		MaxTries: r.MaxTries, RetryRatio: float64(r.RetryPercent) / 100,
		ConnectionConcurrency: r.Bulkhead.PerConnection, ConnectionQueue: r.Bulkhead.PerConnectionQueue,
		HostConcurrency: r.Bulkhead.PerHost, HostQueue: r.Bulkhead.PerHostQueue,
		BreakerFailures: r.Breaker.Failures, BreakerConnections: r.Breaker.Connections, BreakerOpenFor: r.Breaker.OpenFor,
		Metrics: g.metrics, Log: g.log,
	}
}

// operators are what the configuration says of providers, by the names of their adapters.
func operators(cfg config.Config) map[string]adapter.Operator {
	p := cfg.Providers
	return map[string]adapter.Operator{
		"google": {ClientID: p.Google.ClientID, ClientSecret: p.Google.ClientSecret, Addresses: adapter.Addresses{
			"auth_url": p.Google.AuthURL, "token_url": p.Google.TokenURL, "api_url": p.Google.APIURL, "issuer": p.Google.Issuer,
		}},
		"microsoft": {ClientID: p.Microsoft.ClientID, ClientSecret: p.Microsoft.ClientSecret, Addresses: adapter.Addresses{
			"authority": p.Microsoft.Authority, "api_url": p.Microsoft.APIURL,
		}},
		"salesforce": {ClientID: p.Salesforce.ClientID, ClientSecret: p.Salesforce.ClientSecret, Addresses: adapter.Addresses{
			"login_url": p.Salesforce.LoginURL,
		}},
		"hubspot": {ClientID: p.HubSpot.ClientID, ClientSecret: p.HubSpot.ClientSecret, Addresses: adapter.Addresses{
			"auth_url": p.HubSpot.AuthURL, "token_url": p.HubSpot.TokenURL, "api_url": p.HubSpot.APIURL,
		}},
		"zendesk": {ClientID: p.Zendesk.ClientID, ClientSecret: p.Zendesk.ClientSecret, Addresses: adapter.Addresses{
			"base_url": p.Zendesk.BaseURL,
		}},
		"twilio": {Addresses: adapter.Addresses{"api_url": p.Twilio.APIURL}},
		"telnyx": {Addresses: adapter.Addresses{"api_url": p.Telnyx.APIURL}},
	}
}

// apiOptions are the configuration's part of the HTTP surface.
func apiOptions(cfg config.Config) api.Options {
	return api.Options{
		PublicURL: cfg.Server.PublicURL, Version: Version(), Deadline: cfg.Resilience.Deadline,
		MaxInFlight: cfg.Limits.MaxInFlight, LegacyConferencing: cfg.Calendar.LegacyConferencingTypes,
		PerMinuteOfKey: cfg.Limits.RequestsPerMinutePerKey, PerMinuteOfTenant: cfg.Limits.RequestsPerMinutePerTenant,
	}
}

// Document is the OpenAPI description as a gateway of that configuration serves it, as "yaml" or "json".
func Document(cfg config.Config, format string) ([]byte, error) {
	asYAML, asJSON, err := api.Document(apiOptions(cfg))
	if err != nil {
		return nil, err
	}
	if format == "json" {
		return asJSON, nil
	}
	return asYAML, nil
}

// Desired turns a file of tenants into what the directory is to make.
func Desired(file config.Tenants) tenant.Desired {
	var want tenant.Desired
	for _, t := range file.Tenants {
		d := tenant.DesiredTenant{Name: t.Name, Settings: tenant.Settings{
			Timezone: t.Timezone, PreventDoubleBooking: t.PreventDoubleBooking, RejectPast: t.RejectPast,
			DedupeWindow: (*tenant.Duration)(t.DedupeWindow), TicketDedupeWindow: (*tenant.Duration)(t.TicketDedupeWindow),
			MaxPurchasesPerDay: t.MaxPurchasesPerDay, MaxPhoneNumbers: t.MaxPhoneNumbers,
			StatusWords: t.StatusWords, PriorityWords: t.PriorityWords,
		}}
		for _, c := range t.Connections {
			d.Connections = append(d.Connections, tenant.NewConnection{
				Name: c.Name, Kind: adapter.Kind(c.Kind), Provider: c.Provider, Default: c.Default,
				Settings: c.Settings, Credentials: c.Credentials,
			})
		}
		want.Tenants = append(want.Tenants, d)
	}
	return want
}
