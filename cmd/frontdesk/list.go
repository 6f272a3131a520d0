package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// list prints values as JSON, or as a table for people.
func (s *session) list(asJSON bool, values any, head []string, rows [][]string) error {
	if asJSON {
		return s.printJSON(values)
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(head, "\t"))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, plain(cell))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

func (s *session) printJSON(value any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// plain returns a text for a terminal. Callers, tenants and their servers write such texts: what is not seen, as a
// line break or the escape that begins a control sequence (ECMA-48), neither forges a row nor reaches the terminal.
func plain(text string) string {
	isSafe := func(r rune) bool { return unicode.IsGraphic(r) || unicode.Is(unicode.Join_Control, r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !isSafe(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

// moment formats a time for people. It returns "-" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// valueOf returns the time, or the zero time for nil.
func valueOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}
