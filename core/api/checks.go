package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/service"
)

// Paths of faults outside the fields of the body: "body", and all that start with "path.", "query." or
// "header.". No name of a field looks like one; see [quoteName].
const (
	locationBody   = "body"
	prefixOfPath   = "path."
	prefixOfHeader = "header."
	prefixOfQuery  = "query."
)

const (
	maxFaults      = 32 // reported at once; a body can have hundreds
	maxHints       = 8  // number of faults after which no hints are added: it is another kind of mistake
	maxValueEchoed = 64 // bytes
	maxNameEchoed  = 64 // bytes
	maxAttendees   = 200
	maxCalendars   = 50
	maxURLBytes    = 2048
)

// checks gathers every fault of one request's input.
type checks struct {
	surface    surface
	legacy     []string // words of conferencing_type that mean "provider"
	faults     []fault.Field
	untold     int                        // faults beyond maxFaults
	wrong      map[string]bool            // paths that have a fault
	values     map[string]json.RawMessage // short scalars of the request, by path
	deprecated bool                       // something deprecated was used
}

func newChecks(s surface, legacy []string) *checks {
	return &checks{surface: s, legacy: legacy, wrong: map[string]bool{}, values: map[string]json.RawMessage{}}
}

// fail reports a fault. The message is a sentence without its subject, the field.
func (c *checks) fail(path, message string) {
	c.add(fault.Field{Path: path, Message: message})
}

func (c *checks) add(f fault.Field) {
	c.wrong[f.Path] = true
	if c.full() {
		c.untold++
		return
	}
	c.faults = append(c.faults, f)
}

// full reports whether maxFaults faults have been recorded.
func (c *checks) full() bool { return len(c.faults) == maxFaults }

// passed reports whether the value at path has no fault so far.
func (c *checks) passed(path string) bool { return !c.wrong[path] }

// remember keeps a scalar so that problem details can show the refused value. It must not be called for
// unknown names: their values may be secret. A number beyond a double's range (1e999) would keep clients from reading
// the whole answer (RFC 8259 section 6).
func (c *checks) remember(path string, value json.RawMessage) {
	if c.surface.likeV1() || len(value) > maxValueEchoed || value[0] == '{' || value[0] == '[' ||
		value[0] == 'n' || json.Unmarshal(value, new(any)) != nil {
		return
	}
	c.values[path] = value
}

// err returns the fault of the input, or nil.
func (c *checks) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	f := fault.InvalidFields(c.faults...)
	f.Detail = inputDetail(c.faults, c.untold)
	return &inputError{fault: f, values: c.values}
}

// inputError is a fault of the input together with the refused values.
type inputError struct {
	fault  *fault.Error
	values map[string]json.RawMessage
}

func (e *inputError) Error() string { return e.fault.Error() }
func (e *inputError) Unwrap() error { return e.fault }

// inputDetail returns the first faults as sentences, since a model often reads only the detail of an error.
func inputDetail(faults []fault.Field, omitted int) string {
	shown := min(3, len(faults))
	detail := "The request is not valid:"
	for _, f := range faults[:shown] {
		detail += " " + f.Path + " " + f.Text()
	}
	if more := len(faults) - shown + omitted; more > 0 {
		detail += fmt.Sprintf(" And %s more.", thousands(more))
	}
	return detail
}

// present reports a text that contains only spaces as a fault.
func (c *checks) present(path, text string) {
	if text != "" && strings.TrimSpace(text) == "" {
		c.fail(path, "must not be blank")
	}
}

// instant parses a time. It returns the zero value if the time is missing or invalid.
func (c *checks) instant(path, given string, form normalize.TimeForm) normalize.InputTime {
	if given == "" {
		return normalize.InputTime{}
	}
	t, err := normalize.ParseTime(given, form)
	if err != nil {
		c.fail(path, err.Error())
	}
	return t
}

// zone checks an IANA name.
func (c *checks) zone(path, given string) string {
	if given == "" {
		return ""
	}
	if _, err := normalize.LoadZone(given); err != nil {
		c.fail(path, err.Error())
	}
	return given
}

// endAfterStart reports an end that is not after its start as a fault, if the two can be compared: both have
// an offset, both are local times of one zone, or the zone of the local one is given. Otherwise the service
// compares them in the calendar's own zone.
func (c *checks) endAfterStart(start, end normalize.InputTime, timezone string) {
	if start.IsZero() || end.IsZero() || !c.passed("start_time") || !c.passed("end_time") ||
		!c.passed("timezone") {
		return
	}
	zone, err := normalize.LoadZone(timezone)
	if timezone == "" {
		zone, err = normalize.LoadZone("UTC")
	}
	known := timezone != "" || start.HasOffset() == end.HasOffset()
	if err == nil && known && !end.In(zone).After(start.In(zone)) {
		c.fail("end_time", "must be after start_time")
	}
}

// emails checks addresses one by one and drops duplicates.
func (c *checks) emails(path string, given []string) []string {
	var kept []string
	seen := map[string]bool{}
	for i, each := range given {
		at := elementPath(path, i)
		if !c.passed(at) {
			continue
		}
		email, err := normalize.Email(each)
		if err != nil {
			c.fail(at, err.Error())
			continue
		}
		if key := normalize.EmailKey(email); !seen[key] {
			seen[key] = true
			kept = append(kept, email)
		}
	}
	if len(kept) > maxAttendees {
		c.fail(path, fmt.Sprintf("has %s addresses, at most %d are allowed", thousands(len(kept)), maxAttendees))
	}
	return kept
}

// ids checks identifiers of a provider and drops duplicates.
func (c *checks) ids(path string, given []string) []string {
	var kept []string
	for i, id := range given {
		at := elementPath(path, i)
		if !c.passed(at) {
			continue
		}
		if strings.TrimSpace(id) == "" {
			c.fail(at, "must not be blank")
			continue
		}
		if len(kept) <= maxCalendars && !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	if len(kept) > maxCalendars {
		c.fail(path, fmt.Sprintf("has more than %d entries", maxCalendars))
	}
	return kept
}

// webAddress checks an absolute http or https URL.
func (c *checks) webAddress(path, given string) string {
	if !c.passed(path) {
		return ""
	}
	u, err := url.Parse(given)
	switch {
	case len(given) > maxURLBytes:
		c.fail(path, fmt.Sprintf("is longer than %s bytes", thousands(maxURLBytes)))
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		strings.ContainsAny(given, " \t\n"):
		c.fail(path, "must be an absolute http or https URL, such as https://meet.example.com/front-office")
	case u.User != nil:
		c.fail(path, "must not hold a user name or password")
	}
	return given
}

// displayName checks the name of a phone number and trims it.
func (c *checks) displayName(given *string) *string {
	if given == nil {
		return nil
	}
	name, wrong := service.CheckNumberName(*given)
	if wrong != "" {
		c.fail("name", wrong)
	}
	return &name
}

// areaCode checks a NANP area code.
func (c *checks) areaCode(path, given string) string {
	if !c.passed(path) {
		return given
	}
	if wrong := service.CheckAreaCode(given); wrong != "" {
		c.fail(path, wrong)
	}
	return given
}

// quoteName converts a name in the body into a path. It cuts long names, and quotes names that could be read
// as another path or are not printable.
func quoteName(name string) string {
	name = shorten(name, maxNameEchoed)
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if strings.Trim(name, plain) == "" && name != "" && name != locationBody {
		return name
	}
	return "[" + strconv.Quote(name) + "]"
}

// quote returns a text as a JSON string.
func quote(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return b
}

// thousands formats a number with commas between groups of three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
