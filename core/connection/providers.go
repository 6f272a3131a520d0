package connection

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/budget"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/tenant"
	"frontdesk/core/upstream"
)

// Providers holds the adapters of this build, their part of the configuration, and the pool for their
// requests. All fields but Budgets are required.
type Providers struct {
	Registry  adapter.Registry
	Operators map[string]adapter.Operator // key: name of the adapter
	Pool      *upstream.Pool
	Budgets   *budget.Budgets // by which requests keep their providers' quotas; nil: they do not wait
}

// Check returns every fault of a connection to be created. Their paths begin with prefix.
func (p Providers) Check(prefix string, s Spec) []fault.Field {
	faults := tenant.CheckName("name", s.Name)
	a, found := p.Registry.Find(s.Kind, s.Provider)
	switch {
	case !slices.Contains(adapter.Kinds(), s.Kind):
		faults = append(faults, fault.Field{Path: "kind", Message: "must be one of " + listKinds() + "."})
	case !found:
		faults = append(faults, fault.Field{Path: "provider", Message: p.describe(s.Kind)})
	default:
		values := adapter.Values{Settings: s.Settings, Credentials: s.Credentials}
		err := a.Check(values)
		if err == nil {
			a, err = a.With(values)
		}
		if err == nil {
			err = a.CheckGrant(values, p.Operators[a.Name].Addresses)
		}
		if f := fault.From(err); f != nil {
			faults = append(faults, f.Fields...)
		}
		faults = append(faults, unfit(a.Auth, s.Credentials)...)
	}
	for i := range faults {
		faults[i].Path = prefix + faults[i].Path
	}
	return faults
}

func listKinds() string {
	kinds := make([]string, 0, len(adapter.Kinds()))
	for _, k := range adapter.Kinds() {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ", ")
}

// describe returns the message that lists the providers of a kind.
func (p Providers) describe(kind adapter.Kind) string {
	var names []string
	for _, a := range p.Registry.All() {
		if a.Kind == kind {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("is not known: this build has no provider for a %s connection.", kind)
	}
	return fmt.Sprintf("must be one of %s for a %s connection.", strings.Join(names, ", "), kind)
}

// find returns the adapter of a connection.
func (p Providers) find(c Connection) (adapter.Adapter, error) {
	a, found := p.Registry.Find(c.Kind, c.Provider)
	if !found {
		return a, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The connection %q is of the provider %q, which this build of the gateway does not have.",
			c.Name, c.Provider)
	}
	return a, nil
}

// environment returns what an adapter opens a connection with, except Storage and Instance.
func (p Providers) environment(
	a adapter.Adapter, c Connection, zone string, now func() time.Time, by authority,
) adapter.Environment {
	env := adapter.Environment{
		ConnectionID: c.ID, Zone: zone, Now: now, Addresses: p.Operators[a.Name].Addresses,
	}
	if !a.Sandbox {
		env.HTTP = p.Pool.Client(p.clientOptions(a, c, by))
	}
	return env
}

// Prepare opens connections to the providers of a set, so that calls, which are expected soon, do not wait for
// them.
func (p Providers) Prepare(s Set) {
	for _, c := range s {
		if a, err := p.find(c); err == nil && !a.Sandbox && c.Status == StatusOK {
			p.Pool.Prepare(p.clientOptions(a, c, authority{}))
		}
	}
}

// Trial returns what an adapter opens a connection with, to ask whose account it is before anything is
// stored. It uses the settings and the given tokens. The values of the credentials are withheld.
func (p Providers) Trial(
	a adapter.Adapter, c Connection, credentials map[string]string, tokens oauth.Tokens, zone string,
	now func() time.Time,
) (adapter.Values, adapter.Environment) {
	env := p.environment(a, c, zone, now, authority{
		authorise: withSecond(func(r *http.Request) error {
			r.Header.Set("Authorization", tokenPrefix(a.Auth)+tokens.Access)
			return nil
		}, a.Auth.SecondHeader, credentials[a.Auth.Second]),
	})
	env.Instance = func(context.Context) (string, error) { return tokens.Instance, nil }
	return adapter.Values{Settings: c.Settings, Credentials: allWithheld(credentials)}, env
}
