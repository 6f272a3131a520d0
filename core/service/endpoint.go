package service

import (
	"context"
	"errors"

	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
)

// endpoint describes a connected account to the guard.
type endpoint struct {
	opts       *Options
	connection connection.Connection
	target     guard.Target
	verify     func(context.Context) error // asks the provider whether it accepts the credentials
	missing    func()                      // called when the provider denied that a calendar exists; may be nil
	admit      func(context.Context) error // returns an error if the provider must not be asked; may be nil
}

// newEndpoint returns the endpoint of an opened connection. account is the driver's function that verifies
// the credentials.
func newEndpoint[D, A any](
	opts *Options, o connection.Opened[D], maxConcurrent int, account func(context.Context) (A, error),
) endpoint {
	verify := func(ctx context.Context) error {
		_, err := account(ctx)
		return err
	}
	return endpoint{opts: opts, connection: o.Connection, verify: verify, target: guard.Target{
		Kind: o.Target.Kind, Provider: o.Target.Provider, Host: o.Target.Host, Connection: o.Target.Connection,
		MaxConcurrent: maxConcurrent,
	}}
}

// ask calls a driver through the guard. If the provider rejects the credentials, and rejects them again when
// asked for the account, ask marks the connection. The mark is shown to a person, and later callers get the
// error at once. If it accepts them then, ask makes a read again: where the token ended during a batch, only its parts
// were refused, and only the question about the account has renewed it. An error names the provider; drivers need not.
func ask[T any](
	ctx context.Context, e endpoint, op guard.Op, try func(context.Context) (T, error),
) (T, error) {
	var none T
	if e.admit != nil {
		if err := e.admit(ctx); err != nil {
			return none, fault.Unacted(err)
		}
	}
	answer, err := guard.Do(ctx, e.opts.Guard, e.target, op, try)
	if err == nil {
		return answer, nil
	}
	f := fault.From(err)
	if f.Code == fault.Disconnected {
		confirmed := e.confirmCredentials(ctx)
		if confirmed == nil && op.Read {
			if answer, err = guard.Do(ctx, e.opts.Guard, e.target, op, try); err == nil {
				return answer, nil
			}
			f = fault.From(err)
		}
		if errors.Is(confirmed, fault.Disconnected) {
			e.markReconnect(ctx, f.Detail)
		}
	}
	if f.Reason == fault.ReasonCalendarNotFound && e.missing != nil {
		e.missing()
	}
	return none, f.With("provider", e.connection.Provider)
}

// confirmCredentials asks the provider for the account. The error is fault.Disconnected if it rejects the credentials.
func (e endpoint) confirmCredentials(ctx context.Context) error {
	confirm := func(ctx context.Context) (struct{}, error) { return struct{}{}, e.verify(ctx) }
	_, err := guard.Do(ctx, e.opts.Guard, e.target, read("confirm-credentials"), confirm)
	return err
}

func (e endpoint) markReconnect(ctx context.Context, detail string) {
	err := e.opts.Connections.MarkReconnect(context.WithoutCancel(ctx), e.connection, detail)
	if err != nil {
		e.opts.Log.ErrorContext(ctx, "a connection could not be marked", "connection", e.connection.ID, "error", err)
	}
}

// read returns a guard operation without an effect.
func read(name string) guard.Op { return guard.Op{Name: name, Read: true} }
