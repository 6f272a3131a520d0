package tenant

import (
	"bytes"
	"errors"
	"strings"
	"time"
)

// Duration is a time.Duration written as Go writes it ("10m") or as "0".
type Duration time.Duration

// String writes the duration as Go does, without units that are zero: "10m", "1h30m", "0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// MarshalText lets JSON and YAML encode the duration as a string.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "10m", "1h30m" or "0".
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return errors.New(`must be a duration such as "10m" or "1h30m", or 0`)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalJSON reads a string or the number 0.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	return d.UnmarshalText(bytes.Trim(raw, `"`))
}

// UnmarshalYAML reads a string or the number 0.
func (d *Duration) UnmarshalYAML(raw []byte) error {
	return d.UnmarshalText(bytes.Trim(bytes.TrimSpace(raw), `"'`))
}
