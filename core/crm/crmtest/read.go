package crmtest

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// readChecks returns the checks of reading tickets by number and by id.
func readChecks() []Check {
	return []Check{
		{Name: "ByNumber answers the ticket of exactly this number", Bound: reads, Do: byNumber},
		{Name: "ByNumber finds no ticket by a number that is only like its own", Bound: reads, Do: almostTheNumber},
		{Name: "ByNumber takes a number for data, never for a part of a query", Harmless: true, Bound: reads,
			Do: hostileNumbers},
		{Name: "ByNumber says that tickets cannot be read, where the traits do", Harmless: true, Do: saysIfItReads},
		{Name: "ByID answers a new ticket at once", Bound: findsIDs, Do: byID},
		{Name: "ByID says that there is none", Harmless: true, Bound: findsIDs, Do: byUnusedID},
	}
}

func saysIfItReads(ctx context.Context, h Harness) error {
	_, err := h.Open().ByNumber(ctx, cmp.Or(h.Number, "1"))
	cannot := conformance.WantFault("ByNumber", err, fault.Unsupported, fault.ReasonNotSupported)
	if reads(h) && cannot == nil {
		return fmt.Errorf("ByNumber failed with %w, and the traits say that tickets can be read", err)
	}
	if !reads(h) {
		return cannot
	}
	return nil
}

// reads reports whether the driver can read tickets.
func reads(h Harness) bool { return !traits(h).CreateOnly }

func findsIDs(h Harness) bool {
	_, can := h.Open().(crm.IDFinder)
	return can
}

func byNumber(ctx context.Context, h Harness) error {
	var made []crm.Ticket
	for _, subject := range []string{"The first of two", "The second of two"} {
		t, err := h.Open().Create(ctx, newTicket(subject))
		if err != nil {
			return err
		}
		made = append(made, t)
	}
	for _, t := range made {
		read, err := h.Open().ByNumber(ctx, t.Number)
		if err != nil {
			return fmt.Errorf("number %s: %w", t.Number, err)
		}
		if err := sameTicket(t, read); err != nil {
			return err
		}
	}
	return nil
}

func almostTheNumber(ctx context.Context, h Harness) error {
	made, err := h.Open().Create(ctx, newTicket("Nearly the number"))
	if err != nil {
		return err
	}
	n := made.Number
	return noneButExact(ctx, h, n+"0", "0"+n, n[:len(n)-1], strings.TrimLeft(n, "0"), n+" ", " "+n, "#"+n, "-"+n,
		"+"+n, n+".0", n+"\n")
}

func hostileNumbers(ctx context.Context, h Harness) error {
	return noneButExact(ctx, h,
		"", "%", "_", "*", "?", "%%%%%%%%", "________", "00000000' OR '1'='1", `0" OR 1=1 --`, `\`, `\'`, "'", `"`,
		"`", ";", "1;DROP TABLE tickets",
		"1 OR number:*", "number>0", "(1)", "[1]", "{1}", "$1", "{{1}}", "<1>", "../1", "1/../2", "1/comments",
		"1?include=all", "1&per_page=1", "1#top",
		"1%00", "1%2F2", "\x00", "1\r\nX-Injected: yes", "１", "null", "undefined", "NaN", "1e0", "0x1",
		strings.Repeat("9", 400),
	)
}

// noneButExact returns an error if ByNumber returns a ticket with another number than the one it is given.
func noneButExact(ctx context.Context, h Harness, numbers ...string) error {
	for _, number := range numbers {
		found, err := h.Open().ByNumber(ctx, number)
		if err == nil && found.Number == number && number != "" {
			continue
		}
		if err == nil {
			return fmt.Errorf("ByNumber(%q) answered ticket number %q", number, found.Number)
		}
		if err := conformance.WantFault(fmt.Sprintf("ByNumber(%q)", number), err, fault.NotFound,
			fault.ReasonTicketNotFound); err != nil {
			return err
		}
	}
	return nil
}

func byID(ctx context.Context, h Harness) error {
	made, err := h.Open().Create(ctx, newTicket("To be found by its id"))
	if err != nil {
		return err
	}
	found, err := h.Open().(crm.IDFinder).ByID(ctx, made.ID)
	if err != nil {
		return err
	}
	return sameTicket(made, found)
}

func byUnusedID(ctx context.Context, h Harness) error {
	for _, id := range []string{
		"", "no-such-ticket", "999999999999999999", "../1", "1/comments", "1?include=all", "'", "\x00",
	} {
		_, err := h.Open().(crm.IDFinder).ByID(ctx, id)
		if err := conformance.WantFault(fmt.Sprintf("ByID(%q)", id), err, fault.NotFound,
			fault.ReasonTicketNotFound); err != nil {
			return err
		}
	}
	return nil
}
