package settingspage

import (
	"testing"
	"time"

	"frontdesk/core/admin"
)

func TestPlotOfAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 30, 0, time.UTC)
	minute := func(ago int) time.Time { return now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute) }
	got := plotOf(admin.HourOf{Minutes: []admin.Minute{
		{At: minute(60), Requests: 1, P95Ms: 5}, // half of it lies in the hour
		{At: minute(59), Requests: 4, Failed: 4, P95Ms: 100},
		{At: minute(30), Requests: 100, Failed: 1, P95Ms: 1500},
		{At: minute(0), Requests: 50, P95Ms: 750},
	}}, now)
	if got.Most != "100" || got.Slowest != "1.5 s" || len(got.Minutes) != 4 || got.Line != "4,60 236,2 476,33" {
		t.Errorf("the plot is %+v", got)
	}
	for _, b := range got.Bars {
		if b.X < 0 || b.X+b.Width > got.Width || b.Y < 0 || b.Y+b.Height != got.Height && !got.over(b) {
			t.Errorf("%+v lies outside of %+v", b, got)
		}
	}
	if len(got.Bars) != 5 || !got.Bars[1].Bad || got.Bars[1].Height != 2 || got.Bars[3].Height != 2 ||
		got.Bars[4].Height != 31 {
		t.Errorf("the bars are %+v", got.Bars)
	}
	if plotOf(admin.HourOf{}, now) != nil {
		t.Error("an hour without requests has a plot")
	}
}

// over reports whether a bar stands on another one.
func (p *plot) over(b bar) bool {
	for _, below := range p.Bars {
		if below.X == b.X && below.Y == b.Y+b.Height {
			return true
		}
	}
	return false
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for ms, want := range map[float64]string{0: "0.0 ms", 9.96: "10.0 ms", 71.4: "71 ms", 1500: "1.5 s"} {
		if got := duration(ms); got != want {
			t.Errorf("duration(%v) = %q, want %q", ms, got, want)
		}
	}
}
