// Package phonenumber reads telephone numbers as voice platforms and CRMs write them, and compares them.
// It knows the numbering plans of all countries from Google's libphonenumber.
package phonenumber

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// Number is a telephone number with its country calling code. The zero Number is none.
type Number struct {
	E164        string // "+15135557611" (ITU-T E.164)
	CountryCode string // "1"
	National    string // the national significant number, without a trunk prefix: "5135557611"
}

// ErrNotInternational says that a text is no telephone number with a country calling code.
var ErrNotInternational = errors.New("not a telephone number with a country code, such as +15135557611")

// Parse reads a telephone number with its country calling code: in E.164, with separators, or as a tel URI
// (RFC 3966). It fails with ErrNotInternational for anything else, such as a number without a country code.
// An extension is left out: the line that calls shows its main number.
func Parse(text string) (Number, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(strings.TrimPrefix(text, "tel:"), "+") {
		return Number{}, ErrNotInternational
	}
	n, err := parse(text)
	if err != nil {
		return Number{}, err
	}
	// What is read as another number once it is written plainly is none, such as one with a zero too many.
	if again, err := parse(n.E164); err != nil || again != n {
		return Number{}, ErrNotInternational
	}
	return n, nil
}

func parse(text string) (Number, error) {
	n, err := read(text, phonenumbers.UNKNOWN_REGION)
	if err != nil || !phonenumbers.IsPossibleNumber(n) {
		return Number{}, ErrNotInternational
	}
	n.Extension = nil
	return Number{
		E164:        phonenumbers.Format(n, phonenumbers.E164),
		CountryCode: strconv.Itoa(int(n.GetCountryCode())),
		National:    phonenumbers.GetNationalSignificantNumber(n),
	}, nil
}

const mexico = "52"

// untilAugust2019 matches a Mexican number with what stood before it until then, abroad or at home
// (twilio.com/blog/mexico-france-regulatory-compliance-updates-august-2019). So people typed it, and so WhatsApp
// still tells it (github.com/daviddrysdale/python-phonenumbers/issues/306).
var untilAugust2019 = regexp.MustCompile(`^(1|01|04[45])([2-9]\d{9})$`)

// read is phonenumbers.Parse that knows the plan which Mexico had, too.
func read(text, region string) (*phonenumbers.PhoneNumber, error) {
	n, err := phonenumbers.Parse(text, region)
	if err != nil || strconv.Itoa(int(n.GetCountryCode())) != mexico {
		return n, err
	}
	old := untilAugust2019.FindStringSubmatch(phonenumbers.GetNationalSignificantNumber(n))
	if old == nil || old[1] == "1" && !strings.HasPrefix(digits(text), mexico) { // without it, a 1 is North America's
		return n, nil
	}
	return phonenumbers.Parse("+"+mexico+old[2], region)
}

// withheld are the words that stand for a caller's number that is not told, and what remains of them when
// they are typed on a keypad, which is how some carriers pass them on
// (https://help.twilio.com/articles/223179988).
var withheld = []string{
	"anonymous", "blocked", "private", "restricted", "unavailable", "unknown", "withheld",
	"266696687", "2562533", "7378742833", "86282452253", "8656696",
}

// Withheld reports whether a caller's number as a platform tells it is none that can be looked up: it is
// empty, withheld or a SIP address (RFC 3261 section 19.1).
func Withheld(caller string) bool {
	caller = strings.ToLower(strings.TrimSpace(caller))
	if caller == "" || strings.HasPrefix(caller, "sip:") || strings.HasPrefix(caller, "sips:") ||
		strings.Contains(caller, "@") {
		return true
	}
	return slices.Contains(withheld, strings.TrimPrefix(caller, "+"))
}

// Match says how well a stored number agrees with another one.
type Match int

// Matches, from none to best.
const (
	None     Match = iota
	Suffix         // one ends with the other's last seven or more digits
	National       // equal, where the stored number has no country code
	Exact          // equal with country code
)

// fewestOfSuffix is how many digits a number has at least that is the end of another one.
const fewestOfSuffix = 7

// abroad matches the prefix for calls abroad at the beginning of a number: 00, as in most countries (ITU-T E.123).
// No national number begins with it. After 0011 comes no area code of North America's, but another country (Australia).
var abroad = regexp.MustCompile(`(^|[\pL;,|&\n:]| / )([^\d+]*)00[^\d+]*((?:1\D*)?[2-9](?:\D*\d){6})`)

// prefixes are other such prefixes. National numbers begin with them, too, so that they count only where the whole
// number follows.
var prefixes = [...]string{"", "011", "0011", "010"} // none, North America's, Australia's, Japan's

// Compare says how well a number that people typed agrees with n. A number without a country code is read as
// one of n's country. Extensions do not count. People also type a word beside the number, or several numbers
// into one field: then a part that is n as a whole counts. The end of a part does not, since "0171 / 1234567"
// is one number. Nor does a part without a country code that follows one of another country, since
// "+44 (UK) 2079460958" is one number, too.
func (n Number) Compare(stored string) Match {
	if stored == "" {
		return None
	}
	own, err := phonenumbers.Parse(n.E164, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return None
	}
	stored = abroad.ReplaceAllString(stored, "$1$2+$3")
	if match := n.compare(own, stored); match != None {
		return match
	}
	first, _, _ := strings.Cut(stored, " / ")
	if len(digits(first)) >= fewestOfSuffix {
		stored = strings.ReplaceAll(stored, " / ", ";")
	}
	isAbroad := false
	for part := range strings.FieldsFuncSeq(stored, func(r rune) bool {
		return unicode.IsLetter(r) || strings.ContainsRune(";,|&\n", r)
	}) {
		if _, code, given := strings.Cut(part, "+"); given {
			isAbroad = !strings.HasPrefix(digits(code), n.CountryCode)
		}
		if match := n.compare(own, part); match == Exact || match == National && !isAbroad {
			return match
		}
	}
	return None
}

func (n Number) compare(own *phonenumbers.PhoneNumber, stored string) Match {
	// The library reads no number that a tab or a line break follows.
	stored = strings.TrimSpace(stored)
	for _, prefix := range prefixes { // in place of the plus, which not every numbering plan can tell
		if digits(stored) == prefix+n.CountryCode+n.National {
			return Exact
		}
	}
	match := Exact
	other, err := read(stored, phonenumbers.UNKNOWN_REGION)
	if errors.Is(err, phonenumbers.ErrInvalidCountryCode) {
		match = National
		other, err = read(stored, regionOf(own))
	}
	if err != nil || other.GetCountryCode() != own.GetCountryCode() {
		return None
	}
	ours, theirs := n.National, phonenumbers.GetNationalSignificantNumber(other)
	switch shorter := min(len(ours), len(theirs)); {
	case ours == theirs:
		return match
	case shorter >= fewestOfSuffix && ours[len(ours)-shorter:] == theirs[len(theirs)-shorter:]:
		return Suffix
	}
	return None
}

// regionOf returns the region by whose rules a number without a country code is read. If no region's plan has n,
// as that of a new area code, it is the main region of the country code.
func regionOf(n *phonenumbers.PhoneNumber) string {
	if region := phonenumbers.GetRegionCodeForNumber(n); region != "" {
		return region
	}
	return phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode()))
}

// Formats returns the usual ways to write n, each once, the most frequent first, for CRMs that find a number
// only as it was typed.
func (n Number) Formats() []string {
	own, err := phonenumbers.Parse(n.E164, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return nil
	}
	national := phonenumbers.Format(own, phonenumbers.NATIONAL)           // (513) 555-7611, 0171 1234567
	international := phonenumbers.Format(own, phonenumbers.INTERNATIONAL) // +1 513-555-7611, +49 171 1234567
	// Of an Argentine mobile number, which is +54 9 11 2345-6789 abroad and 011 15-2345-6789 at home, the library
	// writes the 9 in the place of the area code at home.
	if parts := strings.SplitN(international, " ", 4); n.Compare(national) < National && len(parts) == 4 {
		national = "0" + parts[2] + " 15-" + parts[3]
	}
	grouped := func(separator string) string {
		return strings.Join(strings.FieldsFunc(national, isNoDigit), separator)
	}
	formats := []string{
		n.E164, grouped(""), national, n.National, international, n.CountryCode + n.National,
		grouped("-"), grouped("."), grouped(" "),
		strings.Join(strings.FieldsFunc(international, isNoDigit), "-"),
		"+" + strings.Join(strings.FieldsFunc(international, isNoDigit), " "),
		"+" + n.CountryCode + " " + national, "00" + n.CountryCode + n.National, "00" + international[len("+"):],
	}
	if n.CountryCode == mexico { // see untilAugust2019
		formats = append(formats, "+521"+n.National, "521"+n.National)
	}
	var distinct []string
	for _, f := range formats {
		if !slices.Contains(distinct, f) {
			distinct = append(distinct, f)
		}
	}
	return distinct
}

func digits(s string) string { return strings.Join(strings.FieldsFunc(s, isNoDigit), "") }

func isNoDigit(r rune) bool { return r < '0' || r > '9' }
