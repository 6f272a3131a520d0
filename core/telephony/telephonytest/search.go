package telephonytest

import (
	"context"
	"fmt"
	"regexp"

	"frontdesk/core/telephony"
)

// searchChecks returns the clauses on Search.
func searchChecks() []Check {
	return []Check{
		{Name: "Search offers numbers of the area code", Harmless: true, Do: searchOffers},
		{Name: "Search offers at most Limit", Harmless: true, Do: searchIsLimited},
		{Name: "no stock is an empty answer", Harmless: true, Bound: func(h Harness) bool { return h.Empty != "" },
			Do: searchIsEmpty},
		{Name: "what is offered can be bought, and is offered no longer then", Do: offersAreReal},
	}
}

// national is a NANP number in E.164 form: no area code and no exchange begins with 0 or 1.
var national = regexp.MustCompile(`^\+1([2-9][0-9]{2})[2-9][0-9]{6}$`)

func searchOffers(ctx context.Context, h Harness) error {
	offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: 10})
	if err != nil {
		return err
	}
	if len(offers) == 0 {
		return fmt.Errorf("nothing is for sale in %s", h.AreaCode)
	}
	seen := map[string]bool{}
	for _, o := range offers {
		parts := national.FindStringSubmatch(o.E164)
		if parts == nil || parts[1] != h.AreaCode || seen[o.E164] {
			return fmt.Errorf("Search in %s offered %+v, want E.164 numbers of the area code, none twice",
				h.AreaCode, o)
		}
		seen[o.E164] = true
	}
	return nil
}

func searchIsLimited(ctx context.Context, h Harness) error {
	for _, limit := range []int{1, 2, 3} {
		offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: limit})
		if err != nil {
			return err
		}
		if len(offers) > limit {
			return fmt.Errorf("Search with limit %d offered %d numbers", limit, len(offers))
		}
	}
	return nil
}

func searchIsEmpty(ctx context.Context, h Harness) error {
	offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.Empty, Limit: 5})
	if err != nil {
		return fmt.Errorf("Search where nothing is for sale: %w", err)
	}
	if len(offers) != 0 {
		return fmt.Errorf("Search in %s offered %+v, want nothing", h.Empty, offers)
	}
	return nil
}

func offersAreReal(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error {
		offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: 10})
		if err != nil {
			return err
		}
		for _, o := range offers {
			if o.E164 == n.E164 {
				return fmt.Errorf("%s is offered although the account holds it", o.E164)
			}
		}
		return nil
	})
}
