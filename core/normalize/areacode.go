package normalize

import (
	"strings"
	"sync"

	"github.com/nyaruka/phonenumbers"
)

// AreaCode answers the area code of a NANP number in E.164 form (country code 1: the first three digits of ten), ""
// of any other.
func AreaCode(e164 string) string {
	if len(e164) != 12 || !strings.HasPrefix(e164, "+1") {
		return ""
	}
	return e164[2:5]
}

// IsAssignedAreaCode reports whether a code of three digits is geographic and assigned in the North American Numbering
// Plan, by the public numbering metadata of libphonenumber.
func IsAssignedAreaCode(code string) bool { return assigned()[code] }

// assigned is worked out once: a code is assigned when a number of it is a valid fixed line.
var assigned = sync.OnceValue(func() map[string]bool {
	codes := map[string]bool{}
	for n := 200; n < 1000; n++ {
		code := string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
		number, err := phonenumbers.Parse("+1"+code+"2345678", "US")
		if err != nil {
			continue
		}
		switch phonenumbers.GetNumberType(number) {
		case phonenumbers.FIXED_LINE, phonenumbers.FIXED_LINE_OR_MOBILE:
			codes[code] = true
		}
	}
	return codes
})
