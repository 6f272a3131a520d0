package settingspage

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/slots"
	"frontdesk/core/timezone"
)

const (
	tenantHours     = tenantRoot + "/opening-hours"
	connectionHours = connectionRoot + "/opening-hours"
)

var hoursRoutes = []route{
	{http.MethodGet, tenantHours, "settings-opening-hours", (*Pages).hours},
	{http.MethodPost, tenantHours, "settings-change-opening-hours", (*Pages).changeHours},
	{http.MethodPost, tenantHours + "/preview", "settings-preview-opening-hours", (*Pages).previewHours},
	{http.MethodGet, connectionHours, "settings-connection-hours", (*Pages).hours},
	{http.MethodPost, connectionHours, "settings-change-connection-hours", (*Pages).changeHours},
	{http.MethodPost, connectionHours + "/preview", "settings-preview-connection-hours", (*Pages).previewHours},
}

// settingHours is the setting with the table of hours.
const settingHours = "open_hours"

// slotLimit is a number among the rules.
type slotLimit struct {
	slots.Limit
	label, help string
}

// slotLimits are the numbers among the rules, in the order of the form, with what happens without them.
func slotLimits() []slotLimit {
	return []slotLimit{
		{slots.LimitDuration, "Length of a meeting, in minutes", "The default is 30."},
		{slots.LimitInterval, "Minutes from one start to the next", "The default is the length of a meeting."},
		{slots.LimitBefore, "Free minutes before a meeting", "The default is 0."},
		{slots.LimitAfter, "Free minutes after a meeting", "The default is 0."},
		{slots.LimitNotice, "Minimum notice, in minutes",
			"How long before a meeting it can be booked at the latest."},
		{slots.LimitBookingWindow, "Booking window, in days",
			"How far ahead meetings can be booked; 0 is without limit."},
	}
}

// isSlotSetting reports whether a setting of a tenant belongs on the page of opening hours.
func isSlotSetting(name string) bool {
	return name == settingHours || name == slots.NameTentative ||
		slices.ContainsFunc(slotLimits(), func(l slotLimit) bool { return l.Name == name })
}

// bookingRules are the opening hours and booking rules of a tenant or of one of its connections.
type bookingRules struct {
	connection *admin.Connection // nil: the rules are the tenant's
	own        map[string]any    // by the names of the settings; those that are absent are inherited
	hours      map[string]string // as they are in effect
	inherited  map[string]string // the hours that count if there are no own ones
}

// workingWeek returns the default hours as a table.
func workingWeek() map[string]string {
	table := map[string]string{}
	for _, weekly := range slots.WorkingWeek().Weekly {
		for _, day := range weekly.Days {
			table[slots.Weekdays()[day]] = fmt.Sprintf("%02d:%02d-%02d:%02d", weekly.Start/60, weekly.Start%60,
				weekly.End/60, weekly.End%60)
		}
	}
	return table
}

// bookingRules returns the stored rules that the page is about.
func (p *Pages) bookingRules(v *visit) (bookingRules, error) {
	found, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant)
	if err != nil {
		return bookingRules{}, err
	}
	defaults := found.Settings.SlotDefaults()
	rules := bookingRules{inherited: workingWeek()}
	if name := v.path("connection"); name != "" {
		if len(defaults.OpenHours) > 0 {
			rules.inherited = defaults.OpenHours
		}
		at, err := p.opts.Admin.GetConnection(v.ctx, v.caller, admin.ConnectionName{Tenant: v.tenant, Name: name})
		if err != nil {
			return bookingRules{}, err
		}
		if at.Kind != string(adapter.KindCalendar) {
			return bookingRules{}, fault.New(fault.NotFound, "OPENING_HOURS_NOT_FOUND",
				"Only connections to calendars have opening hours.")
		}
		rules.connection = &at
		if defaults, err = adapter.SlotDefaults(at.Settings); err != nil {
			return bookingRules{}, fault.From(err)
		}
	}
	rules.hours, rules.own = defaults.OpenHours, map[string]any{}
	if len(rules.hours) == 0 {
		rules.hours = rules.inherited
	} else {
		rules.own[settingHours] = asJSON(rules.hours)
	}
	for name, n := range map[string]*int{
		slots.LimitDuration.Name: defaults.DurationMinutes, slots.LimitInterval.Name: defaults.SlotIntervalMinutes,
		slots.LimitBefore.Name: defaults.BufferBeforeMinutes, slots.LimitAfter.Name: defaults.BufferAfterMinutes,
		slots.LimitNotice.Name:        defaults.MinimumNoticeMinutes,
		slots.LimitBookingWindow.Name: defaults.BookingWindowDays,
	} {
		if n != nil {
			rules.own[name] = *n
		}
	}
	if defaults.TentativeAsBusy != nil {
		rules.own[slots.NameTentative] = *defaults.TentativeAsBusy
	}
	return rules, nil
}

// write returns a field of the form with the rules. A day without hours is empty.
func (b bookingRules) write(name string) string {
	switch {
	case name == fieldDates:
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(b.hours)) {
			if !slices.Contains(slots.Weekdays(), key) {
				lines = append(lines, key+": "+b.hours[key])
			}
		}
		return strings.Join(lines, "\n")
	case slices.Contains(slots.Weekdays(), name):
		if openings, err := slots.ParseOpenings(b.hours[name]); err == nil && len(openings) == 0 {
			return ""
		}
		return b.hours[name]
	}
	return writeValue(b.own[name])
}

// fieldDates is the field of the form with the dates that differ from the week.
const fieldDates = "dates"

// read returns the rules in a form by the names of the settings, nil for those that are inherited, or all
// that is wrong with them. Their paths are the names of the fields.
func (b bookingRules) read(form func(name string) string) (map[string]any, error) {
	var faults []fault.Field
	wrong := func(path, message string) {
		faults = append(faults, fault.Field{Path: path, Message: message + "."})
	}
	given, table := map[string]any{}, map[string]string{}
	for _, day := range slots.Weekdays() {
		text := form(day)
		if text == "" {
			continue
		}
		if _, err := slots.ParseOpenings(text); err != nil {
			wrong(day, err.Error())
		}
		table[day] = text
	}
	for line := range strings.Lines(form(fieldDates)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		day, text, _ := strings.Cut(line, ":")
		day, text = strings.TrimSpace(day), strings.TrimSpace(text)
		if _, err := slots.ParseDate(day); err != nil {
			wrong(fieldDates, fmt.Sprintf("has %q, which must begin with a date, such as 2026-12-24: closed", line))
		} else if _, err := slots.ParseOpenings(text); err != nil {
			wrong(fieldDates, fmt.Sprintf("has %q for %s, which %v", text, day, err))
		} else if table[day] != "" {
			wrong(fieldDates, fmt.Sprintf("has %s twice; write all openings of a day in one line", day))
		}
		table[day] = text
	}
	for _, each := range slotLimits() {
		given[each.Name] = nil
		text := form(each.Name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			wrong(each.Name, "must be a whole number")
		} else if err := each.Check(n); err != nil {
			wrong(each.Name, err.Error())
		}
		given[each.Name] = n
	}
	switch given[slots.NameTentative] = nil; form(slots.NameTentative) {
	case "":
	case "true", "false":
		given[slots.NameTentative] = form(slots.NameTentative) == "true"
	default:
		wrong(slots.NameTentative, "must be true or false")
	}
	if len(faults) > 0 {
		return nil, fault.InvalidFields(faults...)
	}
	if len(table) == 0 {
		table[slots.Weekdays()[time.Monday]] = "closed" // an empty table means the default
	}
	if given[settingHours] = nil; !sameHours(table, b.inherited) {
		given[settingHours] = asJSON(table)
	}
	return given, nil
}

// asJSON returns a table as it is read from JSON.
func asJSON(table map[string]string) map[string]any {
	values := make(map[string]any, len(table))
	for key, text := range table {
		values[key] = text
	}
	return values
}

// sameHours reports whether two tables mean the same.
func sameHours(a, b map[string]string) bool {
	one, errOne := slots.ParseHours(a)
	other, errOther := slots.ParseHours(b)
	return errOne == nil && errOther == nil && reflect.DeepEqual(one, other)
}

type hoursView struct {
	layout
	Days, Rules []field
	Dates       field
	Rest        []fault.Field
	Post        string // the path of the form
	Preview     *slotsPreview
	Problem     string // why there is no preview
}

// slotsPreview is what a caller would be offered.
type slotsPreview struct {
	Say, Zone, Every, Length string
	Unread                   []string // calendars that could not be read
	Days                     []slotsOfDay
}

type slotsOfDay struct{ Day, Times string }

// hours shows the stored opening hours, with a preview if it is asked for.
func (p *Pages) hours(v *visit) (reply, error) {
	rules, err := p.bookingRules(v)
	if err != nil {
		return reply{}, err
	}
	view := p.hoursView(v, rules, rules.write, nil)
	if v.r.URL.Query().Get("preview") != "" {
		p.preview(v, &view, rules, nil)
	}
	return reply{page: "hours.html", view: view}, nil
}

// previewHours shows what the rules in the form would lead to. It stores nothing.
func (p *Pages) previewHours(v *visit) (reply, error) {
	rules, err := p.bookingRules(v)
	if err != nil {
		return reply{}, err
	}
	form := v.over(rules.write)
	given, err := rules.read(form)
	view := p.hoursView(v, rules, form, err)
	if isInvalid(err) {
		return formPage("hours.html", view, err), nil
	}
	if err != nil {
		return reply{}, err
	}
	view.Commands = p.hoursCommands(v, rules, given)
	p.preview(v, &view, rules, given)
	return reply{page: "hours.html", view: view}, nil
}

// changeHours stores the rules in the form.
func (p *Pages) changeHours(v *visit) (reply, error) {
	rules, err := p.bookingRules(v)
	if err != nil {
		return reply{}, err
	}
	form := v.over(rules.write)
	given, err := rules.read(form)
	switch {
	case err != nil:
	case rules.connection == nil:
		_, err = p.opts.Admin.ChangeTenant(v.ctx, v.caller, admin.TenantSpec{Name: v.tenant, Settings: given})
	default:
		_, err = p.opts.Admin.ChangeConnection(v.ctx, v.caller, admin.ConnectionChange{
			ConnectionName: admin.ConnectionName{Tenant: v.tenant, Name: rules.connection.Name},
			Change:         connection.Change{Settings: adapter.WithSlots(rules.connection.Settings, given)},
		})
	}
	if isInvalid(err) {
		return formPage("hours.html", p.hoursView(v, rules, form, err), err), nil
	}
	return p.done(v, err, "The opening hours and booking rules were saved.", hoursPath(v)+"?preview=yes")
}

func hoursPath(v *visit) string {
	if name := v.path("connection"); name != "" {
		return tenantPath(v.tenant, "connections", name, "opening-hours")
	}
	return tenantPath(v.tenant, "opening-hours")
}

func (p *Pages) hoursView(v *visit, rules bookingRules, given func(string) string, wrong error) hoursView {
	title, lead := "Opening hours of "+v.tenant,
		"When callers are offered meetings. Hours are in the calendar's own time zone."
	if rules.connection != nil {
		title = "Opening hours of the connection " + rules.connection.Name
		lead += " What is left empty, and hours that are the same as the tenant's, follow the tenant's."
	}
	view := hoursView{
		layout: p.layout(v, title, lead, p.hoursCommands(v, rules, rules.own)...), Post: p.root + hoursPath(v),
	}
	var fields []field
	week := slots.Weekdays()
	for _, day := range append(week[1:], week[0]) {
		fields = append(fields, field{Name: day, Label: label(day), Type: "text", Value: given(day)})
	}
	fields = append(fields, field{
		Name: fieldDates, Label: "Special dates", Type: "lines", Value: given(fieldDates),
		Help: "One a line, in the place of the week's hours: 2026-12-25: closed, or 2026-12-24: 09:00-12:00.",
	})
	for _, each := range slotLimits() {
		f := field{Name: each.Name, Label: each.label, Type: "text", Value: given(each.Name), Help: each.help}
		if rules.connection != nil {
			f.Help = ""
		}
		fields = append(fields, f)
	}
	fields = append(fields, field{
		Name: slots.NameTentative, Label: "Tentatively accepted meetings", Type: "choice",
		Choices: []choice{{"", "the default"}, {"true", "are busy"}, {"false", "are free"}},
		Value:   given(slots.NameTentative),
	})
	if rules.connection == nil {
		fields[len(fields)-1].Choices[0].Label = "the default (are busy)"
	}
	fields, view.Rest = withFaults(ofStored(fields, rules.write), wrong)
	view.Days, view.Dates, view.Rules = fields[:len(week)], fields[len(week)], fields[len(week)+1:]
	return view
}

// hoursCommands returns the command that sets the rules.
func (p *Pages) hoursCommands(v *visit, rules bookingRules, given map[string]any) []string {
	if rules.connection != nil {
		change := []string{"connection", "change", rules.connection.Name, "--tenant", v.tenant}
		own := adapter.WithSlots(nil, given)[adapter.SettingSlots]
		if own == nil {
			return []string{shell(append(change, "--unset", adapter.SettingSlots)...)}
		}
		return []string{shell(append(change, "--set", adapter.SettingSlots+"="+writeJSON(own))...)}
	}
	change := []string{"tenant", "change", v.tenant}
	if hours, own := given[settingHours].(map[string]any); own {
		for _, day := range slices.Sorted(maps.Keys(hours)) {
			change = append(change, "--set", settingHours+"."+day+"="+writeValue(hours[day]))
		}
	} else {
		change = append(change, "--unset", settingHours)
	}
	names := []string{slots.NameTentative}
	for _, each := range slotLimits() {
		names = append(names, each.Name)
	}
	for _, name := range names {
		if own := given[name]; own != nil {
			change = append(change, "--set", name+"="+writeValue(own))
		} else {
			change = append(change, "--unset", name)
		}
	}
	return []string{shell(change...)}
}

// preview puts what a caller would be offered into the view.
func (p *Pages) preview(v *visit, view *hoursView, rules bookingRules, given map[string]any) {
	asked := admin.SlotRules{Tenant: v.tenant, Rules: given}
	if rules.connection != nil {
		asked.Connection = rules.connection.Name
	}
	found, err := p.opts.Admin.PreviewSlots(v.ctx, v.caller, asked)
	if f := fault.From(err); f != nil {
		view.Problem = f.Detail
		return
	}
	view.Preview = p.slotsPreview(found)
}

// previewDays is how many days the preview shows: today and the two weeks that find-slots looks at.
const previewDays = 15

func (p *Pages) slotsPreview(found admin.SlotPreview) *slotsPreview {
	zone, err := timezone.Load(found.Answer.TimeZone)
	if err != nil { // the service has loaded it
		zone = time.UTC
	}
	shown := &slotsPreview{
		Say: found.Answer.Say, Zone: zone.String(), Unread: found.Answer.UnreadCalendars,
		Length: minutes(found.Duration), Every: minutes(found.Interval),
	}
	byDay := map[string][]time.Time{}
	for _, each := range found.Slots {
		day := each.Start.In(zone).Format(time.DateOnly)
		byDay[day] = append(byDay[day], each.Start.In(zone))
	}
	year, month, today := p.opts.Now().In(zone).Date()
	for d := range previewDays {
		day := time.Date(year, month, today+d, 12, 0, 0, 0, zone)
		shown.Days = append(shown.Days,
			slotsOfDay{day.Format("Monday, 2 January"), runs(byDay[day.Format(time.DateOnly)], found.Interval)})
	}
	return shown
}

func minutes(d time.Duration) string {
	if d == time.Minute {
		return "1 minute"
	}
	return strconv.Itoa(int(d/time.Minute)) + " minutes"
}

// runs writes the times of a day: those that follow each other in equal steps as "09:00 to 11:30".
func runs(starts []time.Time, step time.Duration) string {
	var texts []string
	for i := 0; i < len(starts); {
		last := i
		for last+1 < len(starts) && starts[last+1].Sub(starts[last]) == step {
			last++
		}
		switch from, to := starts[i].Format("15:04"), starts[last].Format("15:04"); last - i {
		case 0:
			texts = append(texts, from)
		case 1:
			texts = append(texts, from, to)
		default:
			texts = append(texts, from+" to "+to)
		}
		i = last + 1
	}
	return strings.Join(texts, ", ")
}
