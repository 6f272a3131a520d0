package recur

import (
	"errors"
	"slices"
	"time"
)

// Budget is the amount of work left. One Budget may span many expansions.
type Budget struct{ Steps int }

// stepsOfFound is what a start costs that is found: it takes memory, at the caller's as well.
const stepsOfFound = 20

// ErrBudget means that the budget is used up.
var ErrBudget = errors.New("recur: the rule repeats more often than can be followed")

func (b *Budget) spend(n int) error {
	if b.Steps -= n; b.Steps < 0 {
		b.Steps = 0
		return ErrBudget
	}
	return nil
}

const (
	daySeconds = 24 * 60 * 60
	lastYear   = 9999
)

// Between returns the starts between from and to, both inclusive, in order. start itself is always the first
// instance, even if the rule does not match it (RFC 5545 section 3.8.5.3). The caller must apply Until.
func (r Rule) Between(start, from, to time.Time, budget *Budget) ([]time.Time, error) {
	x := expansion{
		rule: r.withDefaults(start), start: start.Unix(), from: from.Unix(), to: to.Unix(), budget: budget,
		last: start.Unix() - 1,
	}
	if x.to < x.start {
		return nil, nil
	}
	err := x.add(x.start)
	if err == nil {
		err = x.run(start)
	}
	if err != nil && !errors.Is(err, errDone) {
		return nil, err
	}
	return x.found, nil
}

var errDone = errors.New("recur: done")

// expansion is one walk over a rule's periods. Times are seconds of the wall clock since 1970.
type expansion struct {
	rule            Rule
	start, from, to int64
	budget          *Budget
	counted         int
	last            int64 // the last one counted
	found           []time.Time
}

// withDefaults fills in what the start implies (RFC 5545 section 3.3.10: information that the rule does not
// contain comes from DTSTART).
func (r Rule) withDefaults(start time.Time) Rule {
	if r.Freq >= Daily && len(r.WeekNumbers)+len(r.YearDays)+len(r.MonthDays)+len(r.Days) == 0 {
		switch r.Freq {
		case Yearly:
			if len(r.Months) == 0 {
				r.Months = []int{int(start.Month())}
			}
			r.MonthDays = []int{start.Day()}
		case Monthly:
			r.MonthDays = []int{start.Day()}
		case Weekly:
			r.Days = []Weekday{{Day: start.Weekday()}}
		}
	}
	if r.Freq == Yearly && len(r.WeekNumbers) > 0 && len(r.Days)+len(r.MonthDays)+len(r.YearDays) == 0 {
		r.Days = []Weekday{{Day: start.Weekday()}}
	}
	if r.Freq > Hourly && len(r.Hours) == 0 {
		r.Hours = []int{start.Hour()}
	}
	if r.Freq > Minutely && len(r.Minutes) == 0 {
		r.Minutes = []int{start.Minute()}
	}
	if r.Freq > Secondly && len(r.Seconds) == 0 {
		r.Seconds = []int{start.Second()}
	}
	return r
}

// add takes the next candidate, in order. It returns errDone after the last one that is wanted.
func (x *expansion) add(at int64) error {
	if at <= x.last { // before the start, or there already
		return nil
	}
	if at > x.to {
		return errDone
	}
	if err := x.budget.spend(1); err != nil {
		return err
	}
	x.counted++
	x.last = at
	if at >= x.from {
		if err := x.budget.spend(stepsOfFound); err != nil {
			return err
		}
		x.found = append(x.found, time.Unix(at, 0).UTC())
	}
	if x.counted == x.rule.Count {
		return errDone
	}
	return nil
}

func (x *expansion) run(start time.Time) error {
	switch x.rule.Freq {
	case Yearly, Monthly, Weekly, Daily:
		return x.byDate(start)
	}
	return x.byClock()
}

// byDate walks the periods of a day or longer.
func (x *expansion) byDate(start time.Time) error {
	clock, err := x.clock()
	if err != nil {
		return err
	}
	for k := x.firstPeriod(start); ; k++ {
		if err := x.budget.spend(1); err != nil {
			return err
		}
		first, length, ok := x.period(start, k*x.rule.Interval)
		if !ok || first*daySeconds > x.to {
			return nil
		}
		days, err := x.days(first, length)
		if err != nil {
			return err
		}
		if err := x.emit(days, clock); err != nil {
			return err
		}
	}
}

// firstPeriod returns the number of the period to begin with, skipping those that end before from. A rule
// with COUNT has to be walked from its start.
func (x *expansion) firstPeriod(start time.Time) int {
	if x.rule.Count > 0 || x.from <= x.start {
		return 0
	}
	from := time.Unix(x.from, 0).UTC()
	var periods int
	switch x.rule.Freq {
	case Yearly:
		periods = from.Year() - start.Year()
	case Monthly:
		periods = (from.Year()-start.Year())*12 + int(from.Month()) - int(start.Month())
	case Weekly:
		periods = int((x.from - x.start) / (7 * daySeconds))
	default:
		periods = int((x.from - x.start) / daySeconds)
	}
	return max(0, periods/x.rule.Interval-1)
}

// period returns the first day, as a day number since 1970, and the length in days of the n-th period after
// that of the start.
func (x *expansion) period(start time.Time, n int) (first int64, length int, ok bool) {
	switch x.rule.Freq {
	case Yearly:
		year := start.Year() + n
		return dayNumber(year, 1, 1), yearLength(year), year <= lastYear
	case Monthly:
		months := start.Year()*12 + int(start.Month()) - 1 + n
		year, month := months/12, time.Month(months%12+1)
		return dayNumber(year, month, 1), monthLength(year, month), year <= lastYear
	case Weekly:
		day := floorDiv(x.start, daySeconds)
		back := (int(weekday(day)) - int(x.rule.WeekStart) + 7) % 7
		return day - int64(back) + int64(n)*7, 7, true
	}
	return floorDiv(x.start, daySeconds) + int64(n), 1, true
}

// days returns the days of the period that the rule names.
func (x *expansion) days(first int64, length int) ([]int64, error) {
	var named []int64
	for day := first; day < first+int64(length); day++ {
		date := time.Unix(day*daySeconds, 0).UTC()
		if len(x.rule.Months) > 0 && !slices.Contains(x.rule.Months, int(date.Month())) {
			if length > 7 { // skip the rest of the month
				day += int64(monthLength(date.Year(), date.Month()) - date.Day())
			}
			continue
		}
		if err := x.budget.spend(1); err != nil {
			return nil, err
		}
		if x.rule.matches(date) {
			named = append(named, day)
		}
	}
	return x.withSkipped(named, first, length), nil
}

// withSkipped adds the days that stand for those that the months of the period do not have.
func (x *expansion) withSkipped(named []int64, first int64, length int) []int64 {
	r := x.rule
	if r.Skip == Omit || r.Freq < Monthly || len(r.MonthDays) == 0 {
		return named
	}
	for end := first + int64(length); first < end; {
		date := time.Unix(first*daySeconds, 0).UTC()
		days := monthLength(date.Year(), date.Month())
		first += int64(days)
		if slices.Max(r.MonthDays) <= days || len(r.Months) > 0 && !slices.Contains(r.Months, int(date.Month())) {
			continue
		}
		day := first
		if r.Skip == Backward {
			day--
		}
		if date = time.Unix(day*daySeconds, 0).UTC(); r.isOneOf(date) {
			named = append(named, day)
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// clock lists the times of day that the rule names, as seconds since midnight.
func (x *expansion) clock() ([]int64, error) {
	if err := x.budget.spend(len(x.rule.Hours) * len(x.rule.Minutes) * len(x.rule.Seconds)); err != nil {
		return nil, err
	}
	var times []int64
	for _, h := range x.rule.Hours {
		for _, m := range x.rule.Minutes {
			for _, s := range x.rule.Seconds {
				times = append(times, int64(h*3600+m*60+s))
			}
		}
	}
	return times, nil
}

// emit adds every time on every day, or only those at the positions that BYSETPOS names.
func (x *expansion) emit(days, clock []int64) error {
	if len(x.rule.Positions) == 0 {
		for _, day := range days {
			for _, seconds := range clock {
				if err := x.add(day*daySeconds + seconds); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, i := range positions(x.rule.Positions, len(days)*len(clock)) {
		if err := x.add(days[i/len(clock)]*daySeconds + clock[i%len(clock)]); err != nil {
			return err
		}
	}
	return nil
}

// positions returns the indices that BYSETPOS names in a set of the given size, in order.
func positions(named []int, of int) []int {
	var indices []int
	for _, p := range named {
		i := p - 1
		if p < 0 {
			i = of + p
		}
		if i >= 0 && i < of {
			indices = append(indices, i)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// byClock walks the periods shorter than a day. It skips days, hours and minutes that the rule does not name.
func (x *expansion) byClock() error {
	unit := int64(1)
	switch x.rule.Freq {
	case Hourly:
		unit = 3600
	case Minutely:
		unit = 60
	}
	step := unit * int64(x.rule.Interval)
	base := floorDiv(x.start, unit) * unit
	at := base
	if x.rule.Count == 0 && x.from > base {
		at += (x.from - base) / step * step
	}
	end := dayNumber(lastYear+1, 1, 1) * daySeconds
	for at <= x.to && at < end {
		if err := x.budget.spend(1); err != nil {
			return err
		}
		if next := x.rule.leap(at); next > at {
			at = base + ceilDiv(next-base, step)*step
			continue
		}
		if err := x.emitWithin(at); err != nil {
			return err
		}
		at += step
	}
	return nil
}

// leap returns at if the rule may name it, and otherwise the next moment that the rule may name.
func (r Rule) leap(at int64) int64 {
	day := floorDiv(at, daySeconds)
	if !r.matches(time.Unix(at, 0).UTC()) {
		return (day + 1) * daySeconds
	}
	inDay := at - day*daySeconds
	if len(r.Hours) > 0 && !slices.Contains(r.Hours, int(inDay/3600)) {
		return day*daySeconds + (inDay/3600+1)*3600
	}
	if r.Freq < Hourly && len(r.Minutes) > 0 && !slices.Contains(r.Minutes, int(inDay/60%60)) {
		return day*daySeconds + (inDay/60+1)*60
	}
	if r.Freq == Secondly && len(r.Seconds) > 0 && !slices.Contains(r.Seconds, int(inDay%60)) {
		return at + 1
	}
	return at
}

// emitWithin adds the times that the rule names within the hour, minute or second that begins at at.
func (x *expansion) emitWithin(at int64) error {
	offsets := []int64{0}
	switch x.rule.Freq {
	case Hourly:
		offsets = offsets[:0]
		for _, m := range x.rule.Minutes {
			for _, s := range x.rule.Seconds {
				offsets = append(offsets, int64(m*60+s))
			}
		}
	case Minutely:
		offsets = offsets[:0]
		for _, s := range x.rule.Seconds {
			offsets = append(offsets, int64(s))
		}
	}
	if len(x.rule.Positions) > 0 {
		var chosen []int64
		for _, i := range positions(x.rule.Positions, len(offsets)) {
			chosen = append(chosen, offsets[i])
		}
		offsets = chosen
	}
	for _, offset := range offsets {
		if err := x.add(at + offset); err != nil {
			return err
		}
	}
	return nil
}
