package twilio

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"regexp"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// number is a number of the account (twilio.com/docs/phone-numbers/api/incomingphonenumber-resource). A value
// that is not set is null in some responses and "" in others.
type number struct {
	SID         string `json:"sid"`
	E164        string `json:"phone_number"`
	Name        string `json:"friendly_name"`
	Created     string `json:"date_created"`
	VoiceURL    string `json:"voice_url"`
	Application string `json:"voice_application_sid"`
	Trunk       string `json:"trunk_sid"`

	EmergencyAddress string `json:"emergency_address_sid"`
	EmergencyStatus  string `json:"emergency_address_status"`
}

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)

// complete reports whether the response is a number at all.
func (n number) complete() bool { return isSID(n.SID, "PN") && e164.MatchString(n.E164) }

func numberOf(n number) telephony.Number {
	return telephony.Number{Ref: n.SID, E164: n.E164, Name: n.Name, Routing: n.routing(), Block: n.block()}
}

// routing returns where calls go. If several are set, Twilio uses the first in this order.
func (n number) routing() telephony.Routing {
	switch {
	case n.Trunk != "":
		return telephony.Routing{SIPTrunk: n.Trunk}
	case n.Application != "":
		return telephony.Routing{Application: n.Application}
	}
	return telephony.Routing{VoiceURL: n.VoiceURL}
}

// block returns BlockEmergency if an emergency address prevents a release (help.twilio.com, "Cancel or
// release a Twilio number"). It also does so while the address is being registered or removed.
func (n number) block() telephony.Block {
	switch n.EmergencyStatus {
	case "registered", "pending-registration", "pending-unregistration", "unregistration-failure":
		return telephony.BlockEmergency
	case "unregistered", "registration-failure":
		return telephony.BlockNone
	}
	if n.EmergencyAddress != "" {
		return telephony.BlockEmergency
	}
	return telephony.BlockNone
}

// createdAt returns when the number came into the account. Twilio writes dates as RFC 2822 does.
func (n number) createdAt() (time.Time, bool) {
	at, err := mail.ParseDate(n.Created)
	return at, err == nil
}

// numbersAnswer is a page of the account's numbers.
type numbersAnswer struct {
	Numbers []number `json:"incoming_phone_numbers"` // nil if the response is something else
	Next    string   `json:"next_page_uri"`
}

// offersAnswer is a search's result (twilio.com/docs/phone-numbers/api/availablephonenumberlocal-resource).
type offersAnswer struct {
	Offers []struct {
		E164         string `json:"phone_number"`
		Needs        string `json:"address_requirements"`
		Capabilities struct {
			Voice bool `json:"voice"`
		} `json:"capabilities"`
	} `json:"available_phone_numbers"`
}

// accountAnswer is an account (twilio.com/docs/iam/api/account). The response also has its auth_token, which
// is not read.
type accountAnswer struct {
	SID    string `json:"sid"`
	Name   string `json:"friendly_name"`
	Status string `json:"status"`
}

type balanceAnswer struct {
	Balance json.Number `json:"balance"`
}

// Twilio returns the URL of the next page (twilio.com/docs/usage/twilios-response, "Pagination"). A cursor
// keeps only the two parameters that identify the page, so that a URL made by somebody else is never called.
var (
	pageIndex = regexp.MustCompile(`^[0-9]{1,9}$`)
	pageToken = regexp.MustCompile(`^[!-~]{1,512}$`)
)

// cursorOf converts the URL of a page into a cursor. It returns false if the URL does not identify a page.
func cursorOf(next string) (string, bool) {
	if next == "" {
		return "", true
	}
	u, err := url.Parse(next)
	if err != nil {
		return "", false
	}
	page := url.Values{}
	for _, part := range []string{"Page", "PageToken"} {
		if value := u.Query().Get(part); value != "" {
			page.Set(part, value)
		}
	}
	cursor := page.Encode()
	_, err = pageOf(cursor)
	return cursor, err == nil && cursor != ""
}

// pageOf converts a cursor into the parameters of a request.
func pageOf(cursor string) (url.Values, error) {
	page, err := url.ParseQuery(cursor)
	if err != nil {
		return nil, noCursor()
	}
	for part, values := range page {
		form := map[string]*regexp.Regexp{"Page": pageIndex, "PageToken": pageToken}[part]
		if form == nil || len(values) != 1 || !form.MatchString(values[0]) {
			return nil, noCursor()
		}
	}
	return page, nil
}

func noCursor() error { return fault.InvalidField("cursor", "does not come from a page.") }
