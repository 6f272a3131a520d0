package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// plot is a picture of horizontal bars.
type plot struct {
	file, title string
	unit        unit
	values      []plotValue
}

type plotValue struct {
	label string
	value float64
}

// bars adds a picture of one property of a scenario's subjects.
func (r *report) bars(p plot, scenario, what string, subjects []string) {
	for _, subject := range subjects {
		p.values = append(p.values, plotValue{subject, r.value(scenario, what, subject)})
	}
	r.plots = append(r.plots, p)
}

// draw writes the pictures of the scenarios that ran.
func (r *report) draw(dir string) error {
	for _, p := range r.plots {
		if err := os.WriteFile(filepath.Join(dir, p.file), []byte(p.svg()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// svg returns the picture. It has no background, and its colours can be read on white and on black, since the
// pages that show it have either.
func (p plot) svg() string {
	const (
		width, left, right = 760, 300, 90
		row, top, bottom   = 26, 44, 12
	)
	most := 0.0
	for _, v := range p.values {
		if !math.IsNaN(v.value) {
			most = max(most, v.value)
		}
	}
	height := top + row*len(p.values) + bottom
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" `+
		`height="%d" role="img" font-family="system-ui,sans-serif" font-size="13">`+"\n<title>%s</title>\n",
		width, height, width, height,
		html.EscapeString(p.title))
	fmt.Fprintf(&text, `<text x="8" y="22" fill="#6e7781" font-size="15" font-weight="600">%s</text>`+"\n",
		html.EscapeString(p.title))
	for i, v := range p.values {
		y := top + i*row
		size := 0.0
		if most > 0 && !math.IsNaN(v.value) {
			size = v.value / most * float64(width-left-right)
		}
		colour := "#8c959f"
		if strings.Contains(v.label, "gateway") {
			colour = "#1f883d"
		}
		fmt.Fprintf(&text, `<text x="%d" y="%d" fill="#6e7781" text-anchor="end">%s</text>`+"\n", left-10,
			y+16,
			html.EscapeString(v.label))
		fmt.Fprintf(&text, `<rect x="%d" y="%d" width="%.1f" height="18" rx="2" fill="%s"/>`+"\n", left, y+2,
			size, colour)
		fmt.Fprintf(&text, `<text x="%.1f" y="%d" fill="#6e7781">%s</text>`+"\n", float64(left)+size+6, y+16,
			html.EscapeString(number(v.value, p.unit)))
	}
	text.WriteString("</svg>\n")
	return text.String()
}
