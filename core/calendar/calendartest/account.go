package calendartest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func accountChecks() []Check {
	return []Check{
		{Name: "the account is named", Harmless: true, Do: with(accountIsReported)},
		{Name: "the account is asked live", Bound: can[conformance.Revoker], Do: with(accountIsAskedLive)},
		{Name: "calendars are listed, each once and one of them the default", Harmless: true,
			Do: with(calendarsAreListed)},
		{Name: "a calendar that can only be read is marked and refuses a booking", Bound: hasReadOnly,
			Do: with(readOnlyIsMarked)},
	}
}

func accountIsReported(ctx context.Context, r *run) error {
	account, err := r.driver.Account(ctx)
	if err != nil {
		return err
	}
	if account.Email != r.Email {
		return fmt.Errorf("the account's address is %q, want %q", account.Email, r.Email)
	}
	return nil
}

func accountIsAskedLive(ctx context.Context, r *run) error {
	if _, err := r.driver.Account(ctx); err != nil {
		return err
	}
	r.Provider.(conformance.Revoker).Revoke()
	_, err := r.driver.Account(ctx)
	return conformance.WantFault("Account after the credentials were revoked", err, fault.Disconnected, "")
}

func calendarsAreListed(ctx context.Context, r *run) error {
	list, err := r.driver.Calendars(ctx)
	if err != nil {
		return err
	}
	var faults []error
	byID := map[string]calendar.Calendar{}
	standard := 0
	for _, c := range list {
		if _, double := byID[c.ID]; double || c.ID == "" || c.Name == "" {
			faults = append(faults, fmt.Errorf("%+v is listed twice, or has no id or no name", c))
		}
		byID[c.ID] = c
		if c.IsDefault {
			standard++
		}
		if _, err := time.LoadLocation(c.Zone); err != nil || c.Zone == "Local" {
			faults = append(faults, fmt.Errorf("%+v has a zone that is none", c))
		}
	}
	if standard != 1 {
		faults = append(faults, fmt.Errorf("%d calendars are the default one, want 1", standard))
	}
	for _, id := range []string{r.Calendar, r.Second, r.ReadOnly} {
		if _, there := byID[id]; id != "" && !there {
			faults = append(faults, fmt.Errorf("the calendar %q is not listed", id))
		}
	}
	return errors.Join(faults...)
}

func readOnlyIsMarked(ctx context.Context, r *run) error {
	list, err := r.driver.Calendars(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if want := c.ID == r.ReadOnly; (want || c.ID == r.Calendar) && c.ReadOnly != want {
			return fmt.Errorf("ReadOnly of the calendar %q is %t", c.ID, c.ReadOnly)
		}
	}
	b := r.booking("In a calendar that can only be read", 0)
	b.CalendarID = r.ReadOnly
	_, err = r.book(ctx, b)
	return conformance.WantFault("Book", err, fault.Forbidden, "")
}
