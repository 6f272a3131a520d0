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

type numberBuy struct {
	Tenant         string `required:"" help:"The tenant's name." placeholder:"NAME"`
	Connection     string `help:"The telephony connection. The default is the tenant's default one." placeholder:"NAME"`
	Name           string `help:"The display name. The default is the number itself."`
	Inbound        *int64 `help:"The cloud employee that answers." placeholder:"ID"`
	Outbound       *int64 `help:"The cloud employee that calls." placeholder:"ID"`
	IdempotencyKey string `help:"Names this purchase: a repeat with the same key buys no second number." placeholder:"KEY"`
	AreaCode       string `arg:"" help:"The area code, such as 415."`
}

// Run buys a number, and prints its id and the number.
func (c numberBuy) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n := admin.NumberPurchase{Tenant: c.Tenant, Connection: c.Connection}
		n.AreaCode, n.Name, n.Inbound, n.Outbound = c.AreaCode, c.Name, c.Inbound, c.Outbound
		bought, err := g.Admin().BuyNumber(ctx, operator(), admin.Write{IdempotencyKey: c.IdempotencyKey}, n)
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintln(s.out, bought.Record.ID, bought.Record.E164); err != nil {
			// Who is not told buys another one.
			return fmt.Errorf("%s was bought, with the id %d; that could not be printed: %w", bought.Record.E164,
				bought.Record.ID, err)
		}
		return nil
	})
}

type numberRename struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID     int64  `arg:"" help:"The number's id, as \"number list\" shows it."`
	Name   string `arg:"" help:"The new display name."`
}

// Run renames a number.
func (c numberRename) Run(ctx context.Context, s *session) error {
	n := admin.NumberChange{Tenant: c.Tenant}
	n.ID, n.Name = c.ID, &c.Name
	return s.changeNumber(ctx, n)
}

func (s *session) changeNumber(ctx context.Context, n admin.NumberChange) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().ChangeNumber(ctx, operator(), admin.Write{}, n)
		return err
	})
}

// nobody is how a command line unassigns the employees of a number.
const nobody = "none"

type numberAssign struct {
	Tenant   string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID       int64  `arg:"" help:"The number's id, as \"number list\" shows it."`
	Inbound  string `help:"The cloud employee that answers, or none." placeholder:"ID"`
	Outbound string `help:"The cloud employee that calls, or none." placeholder:"ID"`
}

// Run assigns cloud employees to a number.
func (c numberAssign) Run(ctx context.Context, s *session) error {
	n := admin.NumberChange{Tenant: c.Tenant}
	n.ID = c.ID
	for _, e := range []struct {
		flag, given string
		change      *admin.EmployeeChange
	}{{"--inbound", c.Inbound, &n.Inbound}, {"--outbound", c.Outbound, &n.Outbound}} {
		switch id, err := strconv.ParseInt(e.given, 10, 64); {
		case e.given == "":
			continue
		case e.given == nobody:
			e.change.Set = true
		case err != nil:
			return usage("%s must be the id of a cloud employee, or none", e.flag)
		default:
			*e.change = admin.EmployeeChange{Set: true, ID: &id}
		}
	}
	if !n.Inbound.Set && !n.Outbound.Set {
		return usage("name an employee: --inbound ID, --outbound ID")
	}
	return s.changeNumber(ctx, n)
}

type numberRelease struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID     int64  `arg:"" help:"The number's id, as \"number list\" shows it."`
	Yes    bool   `help:"Confirm the release. After release_delay, the number cannot be brought back."`
}

// Run gives a number back to its provider.
func (c numberRelease) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usage("releasing a number gives it back to its provider for good; confirm it with --yes")
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().ReleaseNumber(ctx, operator(), admin.Write{}, admin.NumberID{Tenant: c.Tenant, ID: c.ID})
		return err
	})
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
