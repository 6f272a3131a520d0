package normalize

import (
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

func TestNeighbouringAreaCodes(t *testing.T) {
	for _, c := range []struct{ rule, code, want string }{
		{"the same area first, then the nearest", "415", "628 650 925 707 369 510 341 408"},
		{"an overlay finds what it overlays", "628", "415 650 925 707 369 510 341 408"},
		{"all of one area, the oldest first", "212", "646 332 917 718 347 929 465 201"},
		{"a code of two areas has both first", "917", "212 646 332 718 347 929 465 201"},
		{"a code of two areas, for one of them", "312", "872 773 630 331 847 224 815 779"},
		{"a code that serves another area besides", "407", "321 689 352 863 386 813 656 727"},
		{"across a state's line", "202", "771 301 240 227 703 571 410 443"},
		{"what is far away is not near", "406", "208 986"},
		{"no Canadian number at the border of the United States", "716", "624 585 607 814 582 315 680 216"},
		{"no number of the United States at the border of Canada", "519", "226 548 382 905 289 365 742 416"},
		{"Canada", "604", "778 236 672 257 250"},
		{"Puerto Rico alone", "787", "939"},
		{"the Dominican Republic alone", "829", "809 849"},
		{"Jamaica alone", "658", "876"},
		{"one island, one code", "441", ""},
		{"nothing near", "907", ""},
		{"not assigned", "221", ""},
		{"toll-free", "800", ""},
		{"a country's name is no code", "US", ""},
		{"nothing", "", ""},
	} {
		if got := strings.Join(NeighbouringAreaCodes(c.code), " "); got != c.want {
			t.Errorf("%s: %s has %q, want %q", c.rule, c.code, got, c.want)
		}
	}
}

// TestEveryAreaCodeHasNeighbours names those that have none: islands, and what is more than 400 km from the
// next.
func TestEveryAreaCodeHasNeighbours(t *testing.T) {
	isolated := strings.Fields(
		"242 246 264 268 284 340 345 441 473 649 664 670 671 684 721 758 767 784 807 808 867 868 869 907")
	for _, code := range strings.Fields(areaCodes) {
		near := NeighbouringAreaCodes(code)
		if has := len(near) > 0; has == slices.Contains(isolated, code) {
			t.Errorf("%s has the neighbours %q", code, near)
		}
		if len(near) > mostNeighbours || slices.Contains(near, code) {
			t.Errorf("%s has the neighbours %q, want eight others at most", code, near)
		}
		country := countryOf(code)
		for i, other := range near {
			if !IsAssignedAreaCode(other) || countryOf(other) != country || slices.Contains(near[:i], other) {
				t.Errorf("%s of %s has the neighbour %s of %s", code, country, other, countryOf(other))
			}
		}
		if again := NeighbouringAreaCodes(code); !slices.Equal(again, near) {
			t.Errorf("%s has the neighbours %q, and then %q", code, near, again)
		}
	}
}

// countryOf returns where an area code is assigned, by the table of those.
func countryOf(code string) string {
	for country, codes := range map[string]string{
		"US": areaCodesUS, "a territory": areaCodesUSTerritories, "CA": areaCodesCanada,
		"the Caribbean": areaCodesCaribbean,
	} {
		if strings.Contains(codes, " "+code) {
			return country
		}
	}
	return "nowhere"
}

func TestNumberingAreasAreTheAssignedAreaCodes(t *testing.T) {
	listed := map[string]bool{}
	for line := range strings.Lines(numberingAreas) {
		a := readArea(line)
		inCountry := len(a.country) == 2 &&
			slices.Contains([]string{a.country, "a territory", "the Caribbean"}, countryOf(a.codes[0]))
		if !inCountry || a.north < -90 || a.north > 90 || a.north == 0 || a.east < -180 || a.east > 180 ||
			a.east == 0 {
			t.Errorf("%q is no area", line)
		}
		for _, code := range a.codes {
			listed[code] = true
			if countryOf(code) != countryOf(a.codes[0]) {
				t.Errorf("%q crosses a border", line)
			}
		}
	}
	for _, code := range strings.Fields(areaCodes) {
		if !listed[code] {
			t.Errorf("%s serves no area", code)
		}
		delete(listed, code)
	}
	for code := range listed {
		t.Errorf("%s serves an area and is not assigned", code)
	}
}

func TestOverlaysAreMutual(t *testing.T) {
	for line := range strings.Lines(numberingAreas) {
		codes := readArea(line).codes
		for _, code := range codes {
			for _, other := range codes {
				if code != other && !slices.Contains(NeighbouringAreaCodes(code), other) {
					t.Errorf("%s and %s serve one area, and %[1]s has the neighbours %q", code, other,
						NeighbouringAreaCodes(code))
				}
			}
		}
	}
}

// TestAreasAreWithinOneState holds the table against libphonenumber's places: the short name of a state,
// behind a city, or the long one, where a code has no one city. What is ahead of the metadata has no place
// there.
func TestAreasAreWithinOneState(t *testing.T) {
	known := 0
	for line := range strings.Lines(numberingAreas) {
		short, long := map[string]bool{}, map[string]bool{}
		for _, code := range readArea(line).codes {
			location := locationOf(t, code)
			if location == "" {
				continue
			}
			known++
			if _, state, ofCity := strings.Cut(location, ", "); ofCity {
				short[state] = true
			} else {
				long[location] = true
			}
		}
		if delete(long, "British Colombia"); len(short) > 1 || len(long) > 1 { // misspelt in their data
			t.Errorf("the area %q is in %v and %v", strings.TrimSpace(line), short, long)
		}
	}
	if known < 400 {
		t.Errorf("only %d places are known", known)
	}
}

// locationOf returns where the metadata places an area code; "" where it does not know it.
func locationOf(t *testing.T, code string) string {
	number, err := phonenumbers.Parse("+1"+code+"2000123", "US")
	if err != nil {
		t.Fatal(err)
	}
	location, err := phonenumbers.GetGeocodingForNumber(number, "en")
	if err != nil {
		return "" // no language tag for the country: the library does not know it
	}
	return location
}
