package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// stocked is a number that is for sale.
type stocked struct {
	e164, country string
	needs         string // address requirement: "none" or "any"
	bundle        bool   // it needs a regulatory bundle
	mute          bool   // it cannot receive calls
}

func initialStock() (all []stocked) {
	e164 := func(areaCode string, i int) string { return fmt.Sprintf("+1%s5550%d", areaCode, 100+i) }
	for _, sold := range []struct {
		stocked
		areaCodes string
		from, to  int
	}{
		{stocked{country: "US", needs: "none"}, "415 646 305 206", 0, 20},
		{stocked{country: "CA", needs: "none"}, "604 416", 0, 20},
		{stocked{country: "US", needs: "none", mute: true}, "702", 0, 2},
		{stocked{country: "US", needs: "none"}, "702", 2, 5},
		{stocked{country: "US", needs: "any"}, "808", 0, 5},
		{stocked{country: "US", needs: "none", bundle: true}, "907", 0, 5},
	} {
		for _, areaCode := range strings.Fields(sold.areaCodes) {
			for i := sold.from; i < sold.to; i++ {
				one := sold.stocked
				one.e164 = e164(areaCode, i)
				all = append(all, one)
			}
		}
	}
	return all
}

// takeFromStock sells a number that is for sale, and returns it.
func (s *Server) takeFromStock(fits func(stocked) bool) (stocked, bool) {
	i := slices.IndexFunc(s.stock, fits)
	if i < 0 {
		return stocked{}, false
	}
	one := s.stock[i]
	s.stock = slices.Delete(s.stock, i, i+1)
	return one, true
}

func areaCodeOf(e164 string) string { return strings.TrimPrefix(e164, "+1")[:3] }

var searchParameters = []string{"AreaCode", "VoiceEnabled", "ExcludeAllAddressRequired", "PageSize"}

// mostOffers is the maximum number of results of a search, which has no next page
// (github.com/twilio/twilio-php/issues/632).
const mostOffers = 30

// search serves AvailablePhoneNumbers/COUNTRY/Local.
func (c call) search(where string) (map[string]any, *refusal) {
	country, kind, _ := strings.Cut(where, "/")
	if kind != "Local" || country != "US" && country != "CA" {
		return nil, notFound(c.path)
	}
	size, refused := pageSize(c.given)
	if refused != nil {
		return nil, refused
	}
	areaCode := c.given.Get("AreaCode")
	if n, err := strconv.Atoi(areaCode); areaCode != "" && (err != nil || n < 200 || n > 999) {
		return nil, refuse(400, 21451, "Invalid area code "+areaCode)
	}
	offers := []any{}
	for _, one := range c.stock {
		fits := one.country == country && (areaCode == "" || areaCodeOf(one.e164) == areaCode)
		fits = fits && (c.given.Get("VoiceEnabled") != "true" || !one.mute)
		fits = fits && (c.given.Get("ExcludeAllAddressRequired") != "true" || one.needs == "none")
		if fits && len(offers) < min(size, mostOffers) {
			offers = append(offers, one.body())
		}
	}
	return map[string]any{"available_phone_numbers": offers, "uri": root + c.path}, nil
}

func (one stocked) body() map[string]any {
	return map[string]any{
		"friendly_name": format(one.e164), "phone_number": one.e164, "iso_country": one.country,
		"address_requirements": one.needs, "beta": false,
		"capabilities": map[string]any{"voice": !one.mute, "SMS": true, "MMS": true}, "lata": "722",
		"locality": "Springfield", "rate_center": "SPRINGFLD", "region": "CA", "postal_code": nil,
		"latitude": "37.780000", "longitude": nil,
	}
}

// format returns the name of a number that was given none.
func format(e164 string) string {
	digits := strings.TrimPrefix(e164, "+1")
	if len(digits) != 10 {
		return e164
	}
	return "(" + digits[:3] + ") " + digits[3:6] + "-" + digits[6:]
}
