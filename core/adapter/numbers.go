package adapter

import (
	"context"
	"maps"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// Numbers holds the settings that every telephony connection has besides those of its adapter.
type Numbers struct {
	Held         string        `setting:"numbers" choices:"account,own" default:"account" help:"Which of the account's numbers belong to this connection: all that no other connection here holds (account), or only those that it bought or adopted (own)."`
	ReleaseDelay time.Duration `setting:"release_delay" help:"How long a released number waits, unassigned, before it goes back to the provider, such as 72h. Until then the operator can restore it. By default it goes back at once."`
}

// HeldOwn is the value of Numbers.Held with which a connection does not add numbers of the account that it
// neither bought nor adopted.
const HeldOwn = "own"

// longestReleaseDelay limits the cost of released numbers, which nobody uses.
const longestReleaseDelay = 90 * 24 * time.Hour

// NumbersOf decodes Numbers from a telephony connection's settings.
func NumbersOf(settings map[string]any) (Numbers, error) {
	_, shared := splitNumbers(Values{Settings: settings})
	n, err := decoder[Numbers]()(shared)
	if err == nil && (n.ReleaseDelay < 0 || n.ReleaseDelay > longestReleaseDelay) {
		err = fault.InvalidField("settings.release_delay", "must be 0 to 2160h.")
	}
	return n, err
}

// splitNumbers separates the adapter's own settings from those that every telephony connection may have.
func splitNumbers(v Values) (own, shared Values) {
	own, shared = Values{
		Settings: maps.Clone(v.Settings), Credentials: v.Credentials,
	}, Values{Settings: map[string]any{}}
	for _, f := range fieldsOf[Numbers]() {
		if given, ok := v.Settings[f.Name]; ok {
			shared.Settings[f.Name] = given
			delete(own.Settings, f.Name)
		}
	}
	return own, shared
}

// Telephony declares a telephony adapter; see [Calendar]. Its connections also have the settings of
// [Numbers].
func Telephony[S any](
	d Declaration, open func(context.Context, S, Environment) (telephony.Driver, error),
) Adapter {
	if choose := d.AuthOf; choose != nil {
		d.AuthOf = func(v Values) (Auth, error) {
			own, _ := splitNumbers(v)
			return choose(own)
		}
	}
	decode := decoder[S]()
	return Adapter{
		Declaration: d, Kind: KindTelephony, Fields: append(fieldsOf[S](), fieldsOf[Numbers]()...),
		check: func(v Values) error {
			own, _ := splitNumbers(v)
			_, err := decode(own)
			_, wrong := NumbersOf(v.Settings)
			return bothFaults(err, wrong)
		},
		openTelephony: func(ctx context.Context, v Values, env Environment) (telephony.Driver, error) {
			own, _ := splitNumbers(v)
			return opened(ctx, own, env, decode, open)
		},
	}
}

// bothFaults joins the fields of two input faults.
func bothFaults(one, other error) error {
	if one == nil || other == nil {
		if one == nil {
			return other
		}
		return one
	}
	return fault.InvalidFields(append(fault.From(one).Fields, fault.From(other).Fields...)...)
}
