package twilio

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func TestDatesAreReadAsTwilioWritesThem(t *testing.T) {
	want := time.Date(2015, 7, 30, 23, 19, 4, 0, time.UTC)
	for text, ok := range map[string]bool{
		"Thu, 30 Jul 2015 23:19:04 +0000": true, "30 Jul 2015 23:19:04 +0000": true,
		"Thu, 30 Jul 2015 19:19:04 -0400": true, "Thu, 30 Jul 2015 23:19:04 GMT": true, "": false,
		"2015-07-30T23:19:04Z": false, "Thu, 32 Jul 2015 23:19:04 +0000": false,
	} {
		at, got := number{Created: text}.createdAt()
		if got != ok || ok && !at.Equal(want) {
			t.Errorf("%q: %s, %t", text, at, got)
		}
	}
}

func TestANumberIsReadAsTwilioTellsIt(t *testing.T) {
	const ref = "PNaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, c := range []struct {
		rule, input string
		want        telephony.Number
	}{
		{"null is nothing", `{"sid":"` + ref +
			`","phone_number":"+18089255327","friendly_name":"(808) 925-5327","trunk_sid":null,"voice_application_sid":"",
			"voice_url":null,"emergency_address_sid":null,"emergency_address_status":null,"emergency_status":"Active"}`,
			telephony.Number{Ref: ref, E164: "+18089255327", Name: "(808) 925-5327"}},
		{"an emergency address", `{"sid":"` + ref +
			`","phone_number":"+18089255327","emergency_address_sid":"AD1","emergency_address_status":"registered"}`,
			telephony.Number{Ref: ref, E164: "+18089255327", Block: telephony.BlockEmergency}},
		{"a number of another country",
			`{"sid":"` + ref + `","phone_number":"+442071838750","voice_url":"https://a.example/"}`,
			telephony.Number{Ref: ref, E164: "+442071838750",
				Routing: telephony.Routing{VoiceURL: "https://a.example/"}}},
	} {
		var read number
		if err := json.Unmarshal([]byte(c.input), &read); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if got := numberOf(read); got != c.want || !read.complete() {
			t.Errorf("%s: %+v, want %+v", c.rule, got, c.want)
		}
	}
}

// FuzzAnswers decodes any response to an order: the result is the number ordered, or none.
func FuzzAnswers(f *testing.F) {
	f.Add(
		[]byte(
			`{"sid":"PN00000000000000000000000000000001","phone_number":"+14155550100","date_created":"Sat, 21 Nov 2026 12:00:00 +0000"}`))
	f.Add(
		[]byte(
			`{"sid":"PN00000000000000000000000000000001","phone_number":"+14155550100","date_created":"Sat, 21 Nov 2006 12:00:00 +0000","trunk_sid":"x"}`))
	f.Add([]byte(`{"sid":null,"phone_number":7}`))
	o := telephony.Order{E164: "+14155550100", Since: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	f.Fuzz(func(t *testing.T, answer []byte) {
		var n number
		if json.Unmarshal(answer, &n) != nil {
			return
		}
		got, err := ownNumber(n, o, http.MethodPost)
		set := 0
		for _, to := range []string{got.Routing.VoiceURL, got.Routing.Application, got.Routing.SIPTrunk} {
			if to != "" {
				set++
			}
		}
		if err == nil && (got.E164 != o.E164 || !isSID(got.Ref, "PN") || set > 1) ||
			err != nil && got != (telephony.Number{}) {
			t.Errorf("told is %+v, %v", got, err)
		}
	})
}

// FuzzDates parses any text as a date.
func FuzzDates(f *testing.F) {
	for _, text := range []string{
		"Thu, 30 Jul 2015 23:19:04 +0000", "30 Jul 15 23:19 EST", "", "(comment) 1 Jan 0001 00:00:00 -9999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := (number{Created: text}).createdAt(); !ok && !at.IsZero() {
			t.Errorf("%q is no date, and %s", text, at)
		}
	})
}

// FuzzCursors converts any text as the URL of a next page, and as a cursor.
func FuzzCursors(f *testing.F) {
	for _, text := range []string{
		"/2010-04-01/Accounts/AC1/IncomingPhoneNumbers.json?PageSize=50&Page=1&PageToken=PAPN1",
		"Page=1&PageToken=PAPN1", "https://evil.example/?Page=1", "%", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if cursor, ok := cursorOf(text); ok {
			if again, err := pageOf(cursor); err != nil || again.Encode() != cursor {
				t.Errorf("the cursor %q reads as %v, %v", cursor, again, err)
			}
		}
		page, err := pageOf(text)
		for name := range page {
			if err == nil && name != "Page" && name != "PageToken" {
				t.Errorf("%q has the parameter %q", text, name)
			}
		}
	})
}

// FuzzRefusals converts any error response: the result always has a code, a reason and a detail.
func FuzzRefusals(f *testing.F) {
	f.Add(400, []byte(`{"code":21422,"message":"x"}`))
	f.Add(404, []byte(`<html>`))
	f.Add(429, []byte(`{"code":"20429"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if got := refusal(status, http.Header{}, body); got.Code == "" || got.Reason == "" || got.Detail == "" ||
			got.Unsent && got.Code != fault.RateLimited {
			t.Errorf("%d %q: %+v", status, body, got)
		}
	})
}
