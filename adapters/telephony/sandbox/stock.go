package sandbox

import (
	"fmt"
	"regexp"
	"slices"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// The special area codes; see the package comment.
const (
	soldOut   = "212"
	contested = "213"
	addressed = "214"
	locked    = "215"
)

// mostStock is the maximum stock of an area code. The hundredth number, 555-0199, is never for sale.
const mostStock = 99

// assignable matches geographic area codes: N[0-8]X, but no N11, which is a service, and no 37X or 96X, which
// are reserved for expansion.
var assignable = regexp.MustCompile(`^[2-9][0-8][0-9]$`)

func hasStock(areaCode string) bool {
	switch {
	case !assignable.MatchString(areaCode), areaCode == soldOut:
		return false
	case areaCode[1:] == "11", areaCode[:2] == "37", areaCode[:2] == "96":
		return false
	case slices.Contains([]string{"500", "600", "700", "800", "822", "833", "844", "855", "866", "877", "888",
		"900"}, areaCode):
		return false // not geographic: personal, toll-free and premium numbers
	}
	return true
}

// stock returns the numbers of an area code that were ever for sale, in the order they are offered.
func (s settings) stock(areaCode string) []string {
	if !hasStock(areaCode) {
		return nil
	}
	numbers := make([]string, s.Stock)
	for index := range numbers {
		numbers[index] = fmt.Sprintf("+1%s55501%02d", areaCode, index)
	}
	return numbers
}

// sold reports whether the sandbox sells this number at all, whether it is taken or not.
func (s settings) sold(e164 string) bool {
	return len(e164) == len("+1AAA5550100") && slices.Contains(s.stock(areaCodeOf(e164)), e164)
}

// blockOf returns why a number of an area code cannot be released.
func blockOf(areaCode string) telephony.Block {
	switch areaCode {
	case addressed:
		return telephony.BlockEmergency
	case locked:
		return telephony.BlockLock
	}
	return telephony.BlockNone
}

// contestedNumber reports whether somebody else always buys the number first. It is the first number offered
// in the contested area code.
func contestedNumber(e164 string) bool { return e164 == "+1"+contested+"5550100" }

// areaCodeOf returns the area code of one of the sandbox's numbers.
func areaCodeOf(e164 string) string { return e164[2:5] }

func numberTaken(why string) *fault.Error {
	return fault.Newf(fault.Conflict, fault.ReasonNumberTaken,
		"The number is not for sale any more, %s. Try another one.", why)
}
