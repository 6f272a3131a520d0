package gateway

import (
	"maps"
	"slices"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/api"
	"frontdesk/core/guard"
)

// guardOptions returns the guard's options from the configuration.
func (g *Gateway) guardOptions(shared bool) guard.Options {
	r := g.config.Resilience
	var permits guard.Permits
	if shared {
		permits = sharedPermits{g.budgets}
	}
	return guard.Options{
		Permits:  permits,
		Deadline: r.Deadline, TryTimeout: r.TryTimeout, WriteGrace: r.WriteGrace, MaxTries: r.MaxTries,
		RetryRatio: float64(r.RetryPercent) / 100, ConnectionConcurrency: r.Bulkhead.PerConnection,
		ConnectionQueue: r.Bulkhead.PerConnectionQueue, HostConcurrency: r.Bulkhead.PerHost,
		HostQueue: r.Bulkhead.PerHostQueue, BreakerFailures: r.Breaker.Failures,
		BreakerConnections: r.Breaker.Connections, BreakerOpenFor: r.Breaker.OpenFor, Metrics: g.metrics,
		Log: g.log, Health: g.health,
	}
}

// Providers returns the part of the configuration that the adapters declare, for config.Load.
func Providers(adapters []adapter.Adapter) ([]config.Provider, error) {
	registry, err := adapter.NewRegistry(adapters)
	if err != nil {
		return nil, err
	}
	var declared []config.Provider
	for _, a := range registry.All() {
		same := func(p config.Provider) bool { return p.Name == a.Name } // declared with another kind
		if a.Operator == nil || slices.ContainsFunc(declared, same) {
			continue
		}
		p := config.Provider{Name: a.Name, Help: a.Operator.Help}
		if a.Operator.ClientIDHelp != "" {
			p.Keys = []config.ProviderKey{
				{Name: adapter.FieldClientID, Kind: "line or none", Help: a.Operator.ClientIDHelp},
				{Name: adapter.FieldClientSecret, Kind: "client secret", Help: a.Operator.ClientSecretHelp},
			}
		}
		for _, at := range a.Operator.Addresses {
			k := config.ProviderKey{Name: at.Name, Default: at.Default, Kind: "base", Help: at.Help}
			if at.Optional {
				k.Kind = "base or none"
			}
			p.Keys = append(p.Keys, k)
		}
		declared = append(declared, p)
	}
	return declared, nil
}

// operators returns the operator's settings for providers, by the names of their adapters.
func operators(cfg config.Config) map[string]adapter.Operator {
	all := make(map[string]adapter.Operator, len(cfg.Providers))
	for name, values := range cfg.Providers {
		o := adapter.Operator{
			ClientID: values[adapter.FieldClientID], ClientSecret: values[adapter.FieldClientSecret],
			Addresses: maps.Clone(values),
		}
		delete(o.Addresses, adapter.FieldClientID)
		delete(o.Addresses, adapter.FieldClientSecret)
		all[name] = o
	}
	return all
}

// apiOptions returns the API's options from the configuration.
func apiOptions(cfg config.Config) api.Options {
	return api.Options{
		PublicURL: cfg.Server.PublicURL, Version: Version(), Deadline: cfg.Resilience.Deadline,
		MaxInFlight: cfg.Limits.MaxInFlight, LegacyConferencing: cfg.Calendar.LegacyConferencingTypes,
		PerMinuteOfKey:    cfg.Limits.RequestsPerMinutePerKey,
		PerMinuteOfTenant: cfg.Limits.RequestsPerMinutePerTenant,
	}
}

// Document returns the OpenAPI description that a gateway of this configuration serves, as "yaml" or "json".
func Document(cfg config.Config, format string, admin bool) ([]byte, error) {
	document := api.Document
	if admin {
		document = api.AdminDocument
	}
	asYAML, asJSON, err := document(apiOptions(cfg))
	if err != nil {
		return nil, err
	}
	if format == "json" {
		return asJSON, nil
	}
	return asYAML, nil
}
