package main

import (
	"context"
	"maps"

	"frontdesk/core/admin"
	"frontdesk/core/connection"
	"frontdesk/core/gateway"
)

type connectionChange struct {
	Tenant string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	Name   string            `arg:"" help:"The connection's name."`
	Set    map[string]string `help:"A setting: NAME=VALUE, or NAME.KEY=VALUE for one key of a setting that has keys. Repeat for more." placeholder:"K=V" mapsep:"none"`
	Unset  []string          `help:"A setting to put back to its default. Repeat for more." placeholder:"NAME"`
}

// Help returns the text that is shown with the flags.
func (connectionChange) Help() string {
	return "Credentials, and settings that are not given, stay as they are. A setting that has keys is set as a " +
		"whole: keys that are not given go."
}

// Run changes settings of the connection.
func (c connectionChange) Run(ctx context.Context, s *session) error {
	given, err := changesOf(c.Set, c.Unset)
	if err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		at := admin.ConnectionName{Tenant: c.Tenant, Name: c.Name}
		found, err := g.Admin().GetConnection(ctx, operator(), at)
		if err != nil {
			return err
		}
		settings := connection.Merge(found.Settings, given)
		maps.DeleteFunc(settings, func(_ string, value any) bool { return value == nil })
		_, err = g.Admin().ChangeConnection(ctx, operator(), admin.ConnectionChange{
			ConnectionName: at, Change: connection.Change{Settings: settings},
		})
		return err
	})
}
