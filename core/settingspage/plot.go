package settingspage

import (
	"fmt"
	"strings"
	"time"

	"frontdesk/core/admin"
)

// plot is a small picture of a connection's last hour, a column for each minute. The table behind it says the
// same.
type plot struct {
	Width, Height int
	Bars          []bar  // how many requests, and how many of them failed
	Line          string // points of the 95th percentile, in SVG's form
	Most          string // the largest number of requests in a minute
	Slowest       string // the largest 95th percentile
	Minutes       []plottedMinute
}

// bar is a column of the plot.
type bar struct {
	X, Width, Y, Height int
	Bad                 bool
}

// plottedMinute is a row of the table behind the plot.
type plottedMinute struct {
	admin.Minute
	Time, P95 string
}

const (
	plotMinutes = 60
	plotColumn  = 8 // pixels of a minute
	plotHeight  = 64
)

// plotOf draws the hour before now. It returns nil if there were no requests.
func plotOf(hour admin.HourOf, now time.Time) *plot {
	if len(hour.Minutes) == 0 {
		return nil
	}
	p := &plot{Width: plotMinutes * plotColumn, Height: plotHeight}
	most, slowest := 0, 0.0
	for _, m := range hour.Minutes {
		most, slowest = max(most, m.Requests), max(slowest, m.P95Ms)
	}
	first := now.UTC().Truncate(time.Minute).Add(-(plotMinutes - 1) * time.Minute)
	var points []string
	for _, m := range hour.Minutes {
		p.Minutes = append(p.Minutes, plottedMinute{m, m.At.UTC().Format("15:04 UTC"), duration(m.P95Ms)})
		column := int(m.At.Sub(first) / time.Minute)
		if column < 0 || column >= plotMinutes {
			continue // the hour began within this minute
		}
		x := column * plotColumn
		failed := scaled(float64(m.Failed), float64(most))
		good := scaled(float64(m.Requests), float64(most)) - failed
		p.Bars = append(p.Bars, bar{X: x, Width: plotColumn - 2, Y: plotHeight - failed - good, Height: good})
		if failed > 0 {
			p.Bars = append(p.Bars, bar{X: x, Width: plotColumn - 2, Y: plotHeight - failed, Height: failed,
				Bad: true})
		}
		points = append(points, fmt.Sprintf("%d,%d", x+plotColumn/2, plotHeight-scaled(m.P95Ms, slowest)))
	}
	p.Line, p.Most, p.Slowest = strings.Join(points, " "), fmt.Sprint(most), duration(slowest)
	return p
}

// scaled returns a value's height in pixels, where most has the full height. Anything above zero can be seen.
func scaled(value, most float64) int {
	if value <= 0 || most <= 0 {
		return 0
	}
	return max(2, int(value/most*(plotHeight-2)))
}
