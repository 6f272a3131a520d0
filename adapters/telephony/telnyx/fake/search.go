package fake

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// offer is a number that is, or was, for sale.
type offer struct {
	e164, area string
	sold       bool
	shown      time.Time // when a search last returned it
}

// lately is how long after a search a number can be ordered: "returned in a recent search request"
// (developers.telnyx.com/docs/numbers/phone-numbers/number-search, "Constraints").
const lately = 24 * time.Hour

var searchFilters = []string{
	"filter[country_code]", "filter[national_destination_code]", "filter[phone_number_type]",
	"filter[features][]", "filter[limit]", "filter[best_effort]", "filter[exclude_held_numbers]",
	"filter[phone_number][starts_with]",
}

// search serves a search for numbers. The country is required.
func (c call) search() (map[string]any, *refusal) {
	country, area, starts := c.query.Get("filter[country_code]"),
		c.query.Get("filter[national_destination_code]"), c.query.Get("filter[phone_number][starts_with]")
	if !slices.Contains([]string{"US", "CA"}, country) {
		return nil, malformed("filter[country_code]")
	}
	if kind := c.query.Get("filter[phone_number_type]"); kind != "" && kind != "local" {
		return nil, malformed("filter[phone_number_type]")
	}
	limit, err := strconv.Atoi(c.query.Get("filter[limit]"))
	if err != nil || limit < 1 {
		return nil, malformed("filter[limit]")
	}
	if c.options.NoCoverage && areas[area] != country {
		return nil, malformed("filter[national_destination_code]")
	}
	found := []any{}
	for _, o := range c.stock {
		if len(found) < limit && !o.sold && areas[o.area] == country && (area == "" || o.area == area) &&
			strings.HasPrefix(o.e164[5:], starts) {
			o.shown = c.options.Now()
			found = append(found, map[string]any{
				"record_type": "available_phone_number", "phone_number": o.e164, "vanity_format": "",
				"best_effort": false, "quickship": true, "reservable": true,
				"region_information": []any{map[string]any{"region_type": "country_code", "region_name": country}},
				"cost_information":   map[string]any{"upfront_cost": "1.00", "monthly_cost": "1.00", "currency": "USD"},
				"features":           []any{map[string]any{"name": "sms"}, map[string]any{"name": "voice"}},
			})
		}
	}
	meta := map[string]any{"total_results": len(found), "best_effort_results": 0}
	return map[string]any{"data": found, "meta": meta, "metadata": meta}, nil
}

// findOffer returns an offer that nobody has bought.
func (s *Server) findOffer(e164 string) *offer {
	for _, o := range s.stock {
		if o.e164 == e164 && !o.sold {
			return o
		}
	}
	return nil
}

// page returns one page of a list, as Telnyx does.
func page[T any](c call, all []T, show func(T) map[string]any) (map[string]any, *refusal) {
	at, size := 1, 20
	for name, into := range map[string]*int{"page[number]": &at, "page[size]": &size} {
		if text := c.query.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || name == "page[size]" && n > 250 {
				return nil, malformed(name)
			}
			*into = n
		}
	}
	shown := []any{}
	for _, one := range all[min((at-1)*size, len(all)):min(at*size, len(all))] {
		shown = append(shown, show(one))
	}
	return map[string]any{"data": shown, "meta": map[string]any{
		"total_pages": (len(all) + size - 1) / size, "total_results": len(all), "page_number": at,
		"page_size": size,
	}}, nil
}
