package caldav

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
	"frontdesk/core/timezone"
)

// object is a calendar object resource (RFC 4791 section 4.1): one event, or one series with the overrides of
// single instances. Some servers keep resources with further events that override nothing (Cyrus and DAViCal store
// such imports): each of them is an object of its own.
type object struct {
	root      *ical.Component
	known     zones
	defined   definitions
	zones     map[string]zone            // by TZID, as looked up so far; nil if unknown
	master    *ical.Component            // nil if the account was invited to single instances only
	first     ical.Moment                // the start of master, as it was read
	timings   map[*ical.Component]timing // nil: the events may change
	overrides []override
	ranged    []override // the overrides that also apply to later instances

	part   string    // names the object in the resource; "" if it is the only one
	isTwin bool      // another one has the same UID
	others []*object // the further ones, of the first
}

// override is an instance that differs from its series.
type override struct {
	event     *ical.Component
	of        ical.Moment // RECURRENCE-ID, like the series: when the instance would have started
	following bool        // RANGE=THISANDFUTURE: the later instances differ in the same way
	at        time.Time   // of, if following
}

var (
	errNoEvent    = errors.New("caldav: the object holds no event that can be placed in time")
	errNoneAtAll  = fmt.Errorf("%w: it holds none at all", errNoEvent)
	errManyEvents = errors.New("caldav: the object holds more events than are read")
	errManyZones  = errors.New("caldav: the object defines more time zones than are read")
)

const (
	maxOverrides = 10_000
	maxRanged    = 100
	maxParts     = 1_000
)

func readObject(data []byte, known zones) (*object, error) {
	root, err := ical.Decode(data)
	if err != nil {
		return nil, err
	}
	return objectOf(root, known)
}

func objectOf(root *ical.Component, known zones) (*object, error) {
	o := &object{root: root, known: known, defined: definitionsIn(root), zones: map[string]zone{}}
	if len(o.defined) > maxDefinitions {
		return nil, errManyZones
	}
	masters, err := o.takeMasters()
	if err != nil {
		return nil, err
	}
	for _, event := range root.ChildrenNamed("VEVENT") {
		start, _ := event.Get("DTSTART")
		if _, err := start.Moment(); err != nil {
			return nil, errNoEvent
		}
		id, isOverride := event.Get("RECURRENCE-ID")
		if !isOverride {
			continue
		}
		of, err := id.Moment()
		if err != nil {
			return nil, errNoEvent
		}
		series, is := masters[event.Text("UID")]
		if !is {
			series = o
		}
		if len(series.overrides) == maxOverrides || len(series.ranged) == maxRanged {
			return nil, errManyEvents
		}
		following := strings.EqualFold(id.Param("RANGE"), "THISANDFUTURE")
		ov := override{event: event, of: series.likeSeries(of), following: following}
		series.overrides = append(series.overrides, ov)
		if following {
			ov.at = series.instant(ov.of, time.UTC)
			series.ranged = append(series.ranged, ov)
		}
	}
	if o.master == nil && len(o.overrides) == 0 {
		return nil, errNoneAtAll
	}
	return o, nil
}

// takeMasters makes an object of each event that overrides nothing. It returns the first of each UID, to which
// overrides belong.
func (o *object) takeMasters() (first map[string]*object, err error) {
	first = map[string]*object{}
	count := map[string]int{} // by UID
	for _, event := range o.root.ChildrenNamed("VEVENT") {
		if event.Has("RECURRENCE-ID") {
			continue
		}
		each := o
		switch {
		case o.master == nil:
			o.master = event
		case len(o.others) == maxParts:
			return nil, errManyEvents
		default:
			each = &object{root: o.root, known: o.known, defined: o.defined, zones: o.zones, master: event}
			o.others = append(o.others, each)
		}
		each.first = startOf(event)
		uid := event.Text("UID")
		if count[uid]++; count[uid] == 1 {
			first[uid] = each
		}
	}
	for _, each := range o.all() {
		each.isTwin = each.master != nil && count[each.master.Text("UID")] > 1
		if len(o.others) > 0 {
			each.part = each.names()[0]
		}
	}
	return first, nil
}

// names returns the names of the object in a resource with others: one of its UID, unless another has that as well, and
// one of its start too, which stays when that other is removed.
func (o *object) names() []string {
	if o.master == nil {
		return nil
	}
	name := func(of string) string {
		sum := sha256.Sum256([]byte(of))
		return partPrefix + hex.EncodeToString(sum[:6])
	}
	uid := o.master.Text("UID")
	exact := name(uid + " " + startOf(o.master).String())
	if o.isTwin {
		return []string{exact}
	}
	return []string{name(uid), exact}
}

// all returns the object and the further ones of its resource.
func (o *object) all() []*object { return append([]*object{o}, o.others...) }

// named returns the object of a name, or nil. Without a name it is the only one, or else the one after which the file
// is named: others were stored beside it since its id was told.
func (o *object) named(part, file string) *object {
	for _, each := range o.all() {
		switch {
		case slices.Contains(each.names(), part), part == "" && each.part == "":
			return each
		case part == "" && each.master.Text("UID") == file && !each.isTwin:
			return each
		}
	}
	return nil
}

// likeSeries returns the original start of an instance, or UNTIL, as a date if the series is one of whole
// days. RFC 5545 requires a date (sections 3.3.10, 3.8.4.4 and 3.8.5.1), but Outlook and Exchange write
// midnight of the day, in a zone or in UTC (phw198/OutlookGoogleCalendarSync#1360, jens-maus/node-ical#454
// and #543). A floating time is in the zone of the series, which some programs leave out of EXDATE and RDATE
// (ical-org/ical.net#614).
func (o *object) likeSeries(m ical.Moment) ical.Moment {
	if o.master == nil || m.Form == ical.Date {
		return m
	}
	switch first := o.first; {
	case m.Form == ical.Floating && first.Form == ical.Zoned:
		return ical.Moment{Wall: m.Wall, Form: ical.Zoned, TZID: first.TZID}
	case first.Form != ical.Date:
		return m
	}
	day := midnight(m.Wall)
	if m.Form == ical.UTC && isMidnightEast(m.Wall) {
		day = day.AddDate(0, 0, 1)
	}
	return ical.Moment{Wall: day, Form: ical.Date}
}

// isMidnightEast reports whether a time in UTC is midnight of the next day somewhere east of Greenwich. It
// takes offsets to lie between -10:45 and +13:00, which is wrong only on a few islands of the Pacific, and to
// be whole quarters of an hour, since many programs write a day's end as 23:59:59.
func isMidnightEast(utc time.Time) bool {
	return utc.Hour() >= 24-13 && utc.Equal(utc.Truncate(15*time.Minute))
}

// events returns the object's event and its overrides.
func (o *object) events() (all []*ical.Component) {
	if o.master != nil {
		all = append(all, o.master)
	}
	for _, ov := range o.overrides {
		all = append(all, ov.event)
	}
	return all
}

// isMasked reports whether the server shows an event of the resource in part, and would keep that part alone if it was
// written back. ownCloud does so, and Nextcloud did until 2025 (nextcloud/server#11273 and #54533): they leave out most
// properties of a confidential event in a calendar that is shared, among them DTSTAMP, which RFC 5545 section 3.6.1
// requires.
func (o *object) isMasked() bool {
	return slices.ContainsFunc(o.root.ChildrenNamed("VEVENT"), func(event *ical.Component) bool {
		return !event.Has("DTSTAMP") && strings.EqualFold(event.Text("CLASS"), "CONFIDENTIAL")
	})
}

// recurs reports whether the object is a series. Each instance of a series has its own id.
func (o *object) recurs() bool {
	return o.master == nil || len(o.overrides) > 0 || o.master.Has("RRULE") || o.master.Has("RDATE")
}

// zone returns the zone of a TZID in the object, or nil if it is unknown.
func (o *object) zone(tzid string) zone {
	if len(tzid) > maxZoneNameBytes { // to compare such names takes long
		return nil
	}
	z, asked := o.zones[tzid]
	if !asked {
		z = o.known.find(o.defined, tzid)
		o.zones[tzid] = z
	}
	return z
}

// instant returns the instant of a moment. Dates, floating times and times of an unknown zone are read in the
// fallback location.
func (o *object) instant(m ical.Moment, fallback *time.Location) time.Time {
	switch m.Form {
	case ical.UTC:
		return m.Wall
	case ical.Zoned:
		if z := o.zone(m.TZID); z != nil {
			return z.localize(m.Wall)
		}
	}
	return namedZone{fallback}.localize(m.Wall)
}

// isLocal reports whether the moment alone determines no instant: it is a date, a floating time, or a time of
// an unknown zone.
func (o *object) isLocal(m ical.Moment) bool {
	return m.Form == ical.Date || m.Form == ical.Floating || m.Form == ical.Zoned && o.zone(m.TZID) == nil
}

// key returns the key of the instance with an original start. Every way to write the same moment has the same
// key.
func (o *object) key(of ical.Moment) string { return o.plain(of).String() }

func (o *object) plain(of ical.Moment) ical.Moment {
	switch {
	case of.Form == ical.Date:
		return ical.Moment{Wall: midnight(of.Wall), Form: ical.Date}
	case o.isLocal(of):
		return ical.Moment{Wall: of.Wall}
	}
	return ical.Moment{Wall: o.instant(of, time.UTC).UTC(), Form: ical.UTC}
}

// moment is what a key says, without the text, of which a long series would need thousands.
type moment struct {
	seconds int64
	form    ical.Form
}

func (o *object) moment(of ical.Moment) moment {
	of = o.plain(of)
	return moment{of.Wall.Unix(), of.Form}
}

// instance is one event of an object, with its start and end.
type instance struct {
	event      *ical.Component
	of         ical.Moment // the original start
	start, end ical.Moment
}

// start is a member of a recurrence set; end is set if an RDATE gives a period.
type start struct {
	ical.Moment
	end *ical.Moment
}

// maxOffset is more than any zone's offset from UTC. It widens windows in which wall clocks are compared with
// instants.
const maxOffset = 26 * time.Hour

// limits bounds the work of one call.
type limits struct {
	budget    recur.Budget
	instances int
}

func newLimits() *limits {
	return &limits{budget: recur.Budget{Steps: 2_000_000}, instances: 10_000}
}

// within returns the instances that overlap [from, to), including those that their organizer cancelled.
func (o *object) within(from, to time.Time, fallback *time.Location, l *limits) ([]instance, error) {
	o.timings = map[*ical.Component]timing{}
	defer func() { o.timings = nil }()
	var found []instance
	add := func(i instance) error {
		if !o.overlaps(i, from, to, fallback) {
			return nil
		}
		if l.instances--; l.instances < 0 {
			return recur.ErrBudget
		}
		found = append(found, i)
		return nil
	}
	exceptions, err := o.exdates()
	if err != nil {
		return nil, err
	}
	for _, ov := range o.overrides {
		if exceptions.has(ov.of) { // taken out after it was changed
			continue
		}
		if err := add(o.override(ov)); err != nil {
			return nil, err
		}
	}
	if o.master == nil {
		return found, nil
	}

	reach, shift := o.reach()
	starts, err := o.starts(from.UTC().Add(-maxOffset-reach-shift), to.UTC().Add(maxOffset+shift), &l.budget)
	if err != nil {
		return nil, err
	}
	exceptions.addOverrides()
	for _, s := range starts {
		if exceptions.has(s.Moment) {
			continue
		}
		if err := add(o.instance(s)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// exceptions holds the original starts at which the series itself has no instance. A date excludes every
// instance that starts on it, since Exchange writes dates for timed events too. In a floating series, a wall
// clock excludes the instance that starts at it, since some programs write those in UTC
// (sebbo2002/ical-generator#442).
type exceptions struct {
	object      *object
	keys, dates map[string]bool
}

func (o *object) exdates() (exceptions, error) {
	e := exceptions{object: o, keys: map[string]bool{}, dates: map[string]bool{}}
	excluded, err := o.exclusions()
	for _, id := range excluded {
		e.add(id)
	}
	return e, err
}

func (e exceptions) addOverrides() {
	for _, ov := range e.object.overrides {
		e.add(ov.of)
	}
}

func (e exceptions) add(id ical.Moment) {
	e.keys[e.object.key(id)] = true
	if id.Form != ical.Date && e.object.first.Form == ical.Floating {
		e.keys[e.object.key(ical.Moment{Wall: id.Wall})] = true
	}
	if id.Form == ical.Date {
		e.dates[id.String()] = true
	}
}

func (e exceptions) has(m ical.Moment) bool {
	return len(e.keys) > 0 && e.keys[e.object.key(m)] ||
		len(e.dates) > 0 && e.dates[ical.Moment{Wall: m.Wall, Form: ical.Date}.String()]
}

func (o *object) overlaps(i instance, from, to time.Time, fallback *time.Location) bool {
	begin, end := o.instant(i.start, fallback), o.instant(i.end, fallback)
	if !end.After(begin) { // an event without length lies at its start (RFC 4791 section 9.9)
		return !begin.Before(from) && begin.Before(to)
	}
	return begin.Before(to) && end.After(from)
}

// find returns the instance with the given key, and whether there is one.
func (o *object) find(key string) (instance, bool, error) {
	of, err := ical.ParseMoment(key, "")
	if err != nil {
		return instance{}, false, nil //nolint:nilerr // what is no moment is the key of no instance
	}
	exceptions, err := o.exdates()
	if err != nil {
		return instance{}, false, err
	}
	for _, ov := range o.overrides {
		if o.key(ov.of) == key {
			return o.override(ov), !exceptions.has(ov.of), nil
		}
	}
	if o.master == nil {
		return instance{}, false, nil
	}
	starts, err := o.starts(of.Wall.Add(-maxOffset), of.Wall.Add(maxOffset), &newLimits().budget)
	if err != nil {
		return instance{}, false, err
	}
	for _, s := range starts {
		if o.key(s.Moment) == key && !exceptions.has(s.Moment) {
			return o.instance(s), true, nil
		}
	}
	return instance{}, false, nil
}

// override returns the instance that an override describes.
func (o *object) override(ov override) instance {
	begin := startOf(ov.event)
	return instance{event: ov.event, of: ov.of, start: begin, end: o.end(ov.event, begin)}
}

// single returns the event of an object that is not a series, or the first event of a series.
func (o *object) single() instance {
	if o.master == nil {
		return o.override(o.overrides[0])
	}
	begin := startOf(o.master)
	return instance{event: o.master, of: begin, start: begin, end: o.end(o.master, begin)}
}

// instance returns the instance for a member of the recurrence set. The last override before it with
// RANGE=THISANDFUTURE applies, or else the series (RFC 5545 section 3.2.13).
func (o *object) instance(s start) instance {
	i := instance{event: o.master, of: s.Moment, start: s.Moment}
	if ov, ok := o.following(s.Moment); ok {
		i.event = ov.event
		i.start = o.shift(s.Moment, ov)
	} else if s.end != nil {
		i.end = *s.end
		return i
	}
	i.end = o.end(i.event, i.start)
	return i
}

func (o *object) following(m ical.Moment) (override, bool) {
	var last override
	found := false
	at := o.instant(m, time.UTC)
	for _, ov := range o.ranged {
		if ov.at.Before(at) && (!found || ov.at.After(last.at)) {
			last, found = ov, true
		}
	}
	return last, found
}

// shift moves a start by as much as the override moved its own instance.
func (o *object) shift(m ical.Moment, ov override) ical.Moment {
	own := o.timing(ov.event).start
	if own.Form == m.Form && own.TZID == m.TZID {
		m.Wall = m.Wall.Add(own.Wall.Sub(o.wallLike(ov.of, own)))
		return m
	}
	if o.isLocal(own) || o.isLocal(m) {
		return ical.Moment{Wall: m.Wall.Add(own.Wall.Sub(ov.of.Wall)), Form: own.Form, TZID: own.TZID}
	}
	at := o.instant(m, time.UTC).Add(o.instant(own, time.UTC).Sub(o.instant(ov.of, time.UTC)))
	return o.momentLike(at, own)
}

// wallLike returns what the clock of the model shows at a moment. In one zone, or without one, both show the
// same.
func (o *object) wallLike(m, model ical.Moment) time.Time {
	if o.isLocal(m) || o.isLocal(model) || m.Form == model.Form && m.TZID == model.TZID {
		return m.Wall
	}
	at := o.instant(m, time.UTC).UTC()
	if model.Form == ical.Zoned {
		return o.zone(model.TZID).wall(at)
	}
	return at
}

// momentLike returns an instant in the zone of the model, or in UTC if the model's zone cannot express it.
func (o *object) momentLike(at time.Time, model ical.Moment) ical.Moment {
	if model.Form == ical.Zoned {
		if z, ok := o.zone(model.TZID).(namedZone); ok {
			wall := timezone.Wall(at, z.location)
			if z.localize(wall).Equal(at) {
				return ical.Moment{Wall: wall, Form: ical.Zoned, TZID: model.TZID}
			}
		}
	}
	return ical.Moment{Wall: at.UTC(), Form: ical.UTC}
}

// timing is what an event says of its start and its end.
type timing struct {
	start    ical.Moment
	end      *ical.Moment   // nil: there is none
	duration *ical.Duration // nil: there is none
}

// timing returns the timing of an event. While many instances are read, it looks for it once.
func (o *object) timing(event *ical.Component) timing {
	t, known := o.timings[event]
	if known {
		return t
	}
	t.start = startOf(event)
	if property, ok := event.Get("DTEND"); ok {
		if last, err := property.Moment(); err == nil {
			t.end = &last
		}
	}
	if property, ok := event.Get("DURATION"); ok {
		if d, err := ical.ParseDuration(property.Value); err == nil && d.Days >= 0 && d.Exact >= 0 {
			t.duration = &d
		}
	}
	if o.timings != nil {
		o.timings[event] = t
	}
	return t
}

// end returns the end of an event that starts at begin. DTEND gives every instance the same exact length,
// DURATION the same nominal length (RFC 5545 section 3.8.5.3).
func (o *object) end(event *ical.Component, begin ical.Moment) ical.Moment {
	t := o.timing(event)
	switch {
	case t.end != nil:
		return o.endLike(t.start, begin, *t.end)
	case t.duration != nil:
		return o.after(begin, *t.duration)
	}
	if begin.Form == ical.Date {
		begin.Wall = begin.Wall.AddDate(0, 0, 1)
	}
	return begin
}

// endLike returns the end of an instance that starts at begin if the first one lasts from first to last. A whole day
// that ends with its start, or before it, has no valid end (RFC 5545 section 3.8.2.2). It lasts one day, as
// without an end (section 3.6.1).
func (o *object) endLike(first, begin, last ical.Moment) ical.Moment {
	if begin.Equal(first) && first.Form != ical.Date && last.Form != ical.Date {
		if o.instant(last, time.UTC).Before(o.instant(first, time.UTC)) {
			return begin // an end before the start is ignored
		}
		return last
	}
	if first.Form == ical.Date || last.Form == ical.Date {
		days := max(1, int(midnight(last.Wall).Sub(midnight(first.Wall)).Hours()/24))
		return ical.Moment{Wall: midnight(begin.Wall).AddDate(0, 0, days), Form: begin.Form, TZID: begin.TZID}
	}
	if o.isLocal(first) || o.isLocal(last) {
		begin.Wall = begin.Wall.Add(max(0, last.Wall.Sub(first.Wall)))
		return begin
	}
	length := max(0, o.instant(last, time.UTC).Sub(o.instant(first, time.UTC)))
	return o.momentLike(o.instant(begin, time.UTC).Add(length), last)
}

func (o *object) after(begin ical.Moment, d ical.Duration) ical.Moment {
	begin.Wall = begin.Wall.AddDate(0, 0, d.Days)
	if begin.Form == ical.Date {
		begin.Wall = begin.Wall.AddDate(0, 0, max(int(d.Exact/(24*time.Hour)), 1-min(d.Days, 1)))
		return begin
	}
	if d.Exact == 0 {
		return begin
	}
	if o.isLocal(begin) {
		begin.Wall = begin.Wall.Add(d.Exact)
		return begin
	}
	return o.momentLike(o.instant(begin, time.UTC).Add(d.Exact), begin)
}

func startOf(event *ical.Component) ical.Moment {
	property, _ := event.Get("DTSTART")
	m, _ := property.Moment() // objectOf has checked that it can be read
	return m
}

func isCancelled(event *ical.Component) bool {
	return strings.EqualFold(strings.TrimSpace(event.Text("STATUS")), "CANCELLED")
}

func isTransparent(event *ical.Component) bool {
	return strings.EqualFold(strings.TrimSpace(event.Text("TRANSP")), "TRANSPARENT")
}
