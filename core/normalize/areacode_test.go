package normalize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

func TestAreaCode(t *testing.T) {
	for rule, c := range map[string]struct{ e164, want string }{
		"United States":               {"+14155550123", "415"},
		"Canada":                      {"+16045550123", "604"},
		"Jamaica":                     {"+18765550123", "876"},
		"toll-free, for what it is":   {"+18005550123", "800"},
		"another country":             {"+442079460123", ""},
		"another country, ten digits": {"+4930123456", ""},
		"no plus":                     {"14155550123", ""},
		"a digit short":               {"+1415555012", ""},
		"a digit long":                {"+141555501234", ""},
		"an area code from 0 or 1":    {"+11155550123", ""},
		"letters":                     {"+1415555012x", ""},
		"spaces":                      {"+1 415555012", ""},
		"nothing":                     {"", ""},
	} {
		if got := AreaCode(c.e164); got != c.want {
			t.Errorf("%s: %q has %q, want %q", rule, c.e164, got, c.want)
		}
	}
}

func TestIsAssignedAreaCode(t *testing.T) {
	for rule, codes := range map[string]string{
		"United States":             "201 212 305 415 512 646 718 907 989",
		"territories":               "340 670 671 684 787 939",
		"Canada":                    "204 416 514 604 867 902",
		"the Caribbean and Bermuda": "242 441 473 658 721 809 868 876",
		"overlays of 2025 and 2026": "465 483 679 942",
	} {
		for _, code := range strings.Fields(codes) {
			if !IsAssignedAreaCode(code) {
				t.Errorf("%s: %s is refused", rule, code)
			}
		}
	}
	for rule, codes := range map[string][]string{
		"toll-free":                          {"800", "833", "844", "855", "866", "877", "888", "822"},
		"premium":                            {"900"},
		"services, N11":                      {"211", "311", "411", "511", "611", "711", "811", "911"},
		"personal and machine numbers":       {"500", "533", "544", "566", "577", "588", "521", "529"},
		"carriers, government, Canada's own": {"456", "600", "622", "700", "710"},
		"expansion, N9X":                     {"290", "391", "492", "593", "694", "795", "896", "999"},
		"fiction and information":            {"555"},
		"unassigned":                         {"221", "222", "335", "550", "958", "959x"},
		"reserved for Canada":                {"387"},
		"not from 2 to 9":                    {"000", "011", "123"},
		"not three digits":                   {"", "4", "41", "4155", "41a", " 415", "415 ", "15 ", " 41", "１２３"},
	} {
		for _, code := range codes {
			if IsAssignedAreaCode(code) {
				t.Errorf("%s: %q is taken", rule, code)
			}
		}
	}
}

// TestAreaCodesAgreeWithTheMetadata holds the table against libphonenumber's: what that takes for geographic
// is in the table, and what only the table has is named here. When the metadata catches up, a line goes.
func TestAreaCodesAgreeWithTheMetadata(t *testing.T) {
	ahead := []string{
		"357", // California, over 559
		"436", // Ohio, over 440
		"457", // Louisiana, over 318
		"465", // New York, over 347, 718 and 929
		"471", // Mississippi, over 662
		"483", // Alabama, over 334
		"565", // Georgia, over 912
		"621", // Texas, over 713, 281, 832 and 346
		"624", // New York, over 716
		"679", // Michigan, over 313
		"837", // California, over 530
		"861", // Illinois, over 309
		"924", // Minnesota, over 507
	}
	for n := 200; n < 1000; n++ {
		code := fmt.Sprint(n)
		assigned, step := IsAssignedAreaCode(code), 70
		if assigned {
			step = 10
		}
		known := geographicInMetadata(t, code, step)
		if assigned != (known || slices.Contains(ahead, code)) {
			t.Errorf("%s: assigned %v, in the metadata %v", code, assigned, known)
		}
		if known && slices.Contains(ahead, code) {
			t.Errorf("%s is in the metadata now", code)
		}
	}
	if !slices.IsSorted(ahead) {
		t.Error("the list is not in order")
	}
}

// geographicInMetadata tries exchanges of the area code until one is geographic. On some islands few are.
func geographicInMetadata(t *testing.T, code string, step int) bool {
	for exchange := 202; exchange < 1000; exchange += step {
		number, err := phonenumbers.Parse(fmt.Sprintf("+1%s%d0123", code, exchange), "US")
		if err != nil {
			t.Fatal(err)
		}
		switch phonenumbers.GetNumberType(number) {
		case phonenumbers.FIXED_LINE, phonenumbers.FIXED_LINE_OR_MOBILE:
			return true
		}
	}
	return false
}
