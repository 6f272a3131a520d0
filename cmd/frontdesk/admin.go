package main

import (
	"cmp"
	"context"
	"fmt"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
)

// operator returns the caller of the commands: whoever can run them can do everything.
func operator() apikey.Caller { return apikey.Caller{} }

type adminKeyCreate struct {
	Tenant string `help:"Limit the key to what belongs to this tenant. The default is the operator's key, which reaches everything." placeholder:"NAME"`
	Role   string `help:"viewer (sees everything but secrets) or admin (changes it, too)." enum:"viewer,admin" default:"admin"`
	Label  string `help:"What the key is for."`
}

// Run creates the key. It prints only the key on standard output.
func (c adminKeyCreate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		made, err := g.Admin().CreateAdminKey(ctx, operator(), admin.Write{}, admin.NewAdminKey{
			Tenant: c.Tenant, Role: apikey.Role(c.Role), Label: c.Label,
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Created key %s of the admin interface, with the role %s. It is shown only once; keep "+
			"it in a safe place.\n", made.Record.ID, made.Record.Role)
		_, err = fmt.Fprintln(s.out, made.Record.Secret)
		return err
	})
}

type adminKeyList struct {
	JSON bool `help:"Print JSON."`
}

// Run lists the keys of the admin interface.
func (c adminKeyList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		all, err := g.Admin().ListAdminKeys(ctx, operator())
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all.Keys))
		for _, k := range all.Keys {
			rows = append(rows, []string{
				k.ID, k.Prefix, k.Label, k.Role, cmp.Or(k.Tenant, "-"), moment(valueOf(k.LastUsedAt)),
				moment(valueOf(k.RevokedAt)), moment(valueOf(k.EndsAt)),
			})
		}
		return s.list(c.JSON, all.Keys, []string{"ID", "PREFIX", "LABEL", "ROLE", "TENANT", "LAST USED", "REVOKED",
			"ENDS"}, rows)
	})
}

type adminKeyRevoke struct {
	ID string `arg:"" help:"The key's id, as \"admin key list\" shows it."`
}

// Run revokes the key.
func (c adminKeyRevoke) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().RevokeAdminKey(ctx, operator(), c.ID)
		return err
	})
}
