package main

import (
	"context"
	"fmt"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
	"frontdesk/core/signin"
)

type adminLink struct {
	Tenant string `help:"Limit the link to what belongs to this tenant, for its administrator. The default is the operator's link, which reaches everything." placeholder:"NAME"`
	Role   string `help:"viewer (sees everything but secrets) or admin (changes it, too)." enum:"viewer,admin" default:"admin"`
	Person string `help:"Who it is for, as the audit will name them: a name or e-mail address. The default is operator, or administrator with --tenant." placeholder:"NAME"`
}

// Help returns the text that is shown with the flags.
func (adminLink) Help() string {
	return "Prints a link that signs one person in at the settings page, once. Whoever opens it first is " +
		"signed in, so send it only to that person."
}

// Run makes the link. It prints only the link on standard output.
func (c adminLink) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		url, made, err := g.CreateSignInLink(ctx, signin.NewLink{
			Tenant: c.Tenant, Role: apikey.Role(c.Role), Person: c.Person,
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "This link signs %s in, as %s of %s. It works once, until %s.\n", made.Name, made.Role,
			reach(made), made.ExpiresAt.Format(time.RFC3339))
		_, err = fmt.Fprintln(s.out, url)
		return err
	})
}

func reach(l signin.Link) string {
	if l.Tenant == "" {
		return "the whole gateway"
	}
	return "the tenant " + l.Tenant
}
