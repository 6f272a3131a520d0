package main

import (
	"context"
	"fmt"
	"strconv"

	"frontdesk/core/admin"
	"frontdesk/core/gateway"
)

type numberList struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON."`
}

// Run lists the numbers that a tenant holds, including released numbers that still wait to go back.
func (c numberList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		held, err := g.Admin().ListNumbers(ctx, operator(), c.Tenant)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(held.PhoneNumbers))
		for _, n := range held.PhoneNumbers {
			state := "in use"
			switch {
			case n.Going:
				state = "going back"
			case n.ReleaseAt != nil:
				state = "goes back " + moment(*n.ReleaseAt)
			}
			rows = append(rows, []string{
				strconv.FormatInt(n.ID, 10), n.E164, n.Name, n.Connection, employee(n.Inbound), employee(n.Outbound),
				state,
			})
		}
		return s.list(c.JSON, held.PhoneNumbers,
			[]string{"ID", "NUMBER", "NAME", "CONNECTION", "INBOUND", "OUTBOUND", "STATE"}, rows)
	})
}

func employee(id *int64) string {
	if id == nil {
		return "-"
	}
	return strconv.FormatInt(*id, 10)
}

type numberAdopt struct {
	Tenant     string `required:"" help:"The tenant's name." placeholder:"NAME"`
	Connection string `help:"The telephony connection. The default is the tenant's default one." placeholder:"NAME"`
	Number     string `arg:"" help:"The number in E.164 form, such as +14155550123."`
}

// Run adopts a number that the provider's account already holds, and prints its id.
func (c numberAdopt) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n, err := g.Admin().AdoptNumber(ctx, operator(), admin.HeldNumber{
			Tenant: c.Tenant, Connection: c.Connection, E164: c.Number,
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, n.ID)
		return err
	})
}

type numberRestore struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID     int64  `arg:"" help:"The number's id, as \"number list\" shows it."`
}

// Run puts a released number back into use, and prints the number.
func (c numberRestore) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n, err := g.Admin().RestoreNumber(ctx, operator(), admin.NumberID{Tenant: c.Tenant, ID: c.ID})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, n.E164)
		return err
	})
}
