package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestOfAPanicNothingIsToldThatItMayHold(t *testing.T) {
	caught := func(do func()) (cause any) {
		defer func() { cause = recover() }()
		do()
		return nil
	}
	var none []int
	var nobody map[string]int
	for rule, c := range map[string]struct {
		do   func()
		want string
	}{
		"a text":   {func() { panic("s3cret") }, "a value of type string"},
		"an error": {func() { panic(errors.New("s3cret")) }, "a value of type *errors.errorString"},
		"a struct": {func() { panic(struct{ Token string }{"s3cret"}) },
			"a value of type struct { Token string }"},
		"an index": {func() { _ = none[len(rule7)] },
			"runtime error: index out of range [7] with length 0"},
		"a map that is none": {func() { nobody["s3cret"] = 1 }, "assignment to entry in nil map"},
		"a type that is none": {func() { _ = any("s3cret").(int) },
			"interface conversion: interface {} is string, not int"},
	} {
		if got := Panic(caught(c.do)); got != c.want {
			t.Errorf("%s: %q", rule, got)
		}
	}
}

const rule7 = "seven.."

// spoken is an error with the words of a provider.
type spoken struct{ own, words string }

func (s spoken) Error() string { return s.own }
func (s spoken) Words() string { return s.words }

func TestTheWordsOfOthersAreToldAtDebugLevelOnly(t *testing.T) {
	err := fmt.Errorf("outer: %w", spoken{"refused", "422 Pat's subject, token=s3cret"})
	for level, tells := range map[string]bool{"debug": true, "info": false, "warn": false, "error": false} {
		var out bytes.Buffer
		log, failed := NewLogger(&out, LogOptions{Level: level})
		if failed != nil {
			t.Fatal(failed)
		}
		log.Error("m", "error", err, slog.Group("g", slog.Any("inner", err)))
		got := out.String()
		if strings.Count(got, "outer: refused") != 2 || strings.Contains(got, "Pat") != tells ||
			tells && strings.Count(got, "[upstream: 422 Pat's subject, token=REDACTED]") != 2 {
			t.Errorf("at level %s: %s", level, got)
		}
	}
}
