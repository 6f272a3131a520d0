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

// number is a number of the account (twilio.com/docs/phone-numbers/api/incomingphonenumber-resource). What is
// not set is null in some answers and "" in others.
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

// complete reports whether the answer is a number at all.
func (n number) complete() bool { return isSID(n.SID, "PN") && e164.MatchString(n.E164) }

func numberOf(n number) telephony.Number {
	return telephony.Number{Ref: n.SID, E164: n.E164, Name: n.Name, Routing: n.routing(), Block: n.block()}
}

// routing returns where calls go. Of several, Twilio ignores all but the first in this order.
func (n number) routing() telephony.Routing {
	switch {
	case n.Trunk != "":
		return telephony.Routing{SIPTrunk: n.Trunk}
	case n.Application != "":
		return telephony.Routing{Application: n.Application}
	}
	return telephony.Routing{VoiceURL: n.VoiceURL}
}

// block reports whether a registered emergency address stands against a release (help.twilio.com, "Cancel or
// release a Twilio number"). Registering one and removing it take their time, and until then it is not gone.
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
	Numbers []number `json:"incoming_phone_numbers"` // null in an answer of something else
	Next    string   `json:"next_page_uri"`
}

// offersAnswer is what is for sale (twilio.com/docs/phone-numbers/api/availablephonenumberlocal-resource).
type offersAnswer struct {
	Offers []struct {
		E164         string `json:"phone_number"`
		Needs        string `json:"address_requirements"`
		Capabilities struct {
			Voice bool `json:"voice"`
		} `json:"capabilities"`
	} `json:"available_phone_numbers"`
}

// accountAnswer is an account (twilio.com/docs/iam/api/account). Its auth_token is there, too, and is not
// read.
type accountAnswer struct {
	SID    string `json:"sid"`
	Name   string `json:"friendly_name"`
	Status string `json:"status"`
}

type balanceAnswer struct {
	Balance json.Number `json:"balance"`
}

// Twilio names the next page by an address (twilio.com/docs/usage/twilios-response, "Pagination"), of which
// the cursor keeps the two parameters that say which page it is: an address of somebody else's making leads
// nowhere.
var (
	pageIndex = regexp.MustCompile(`^[0-9]{1,9}$`)
	pageToken = regexp.MustCompile(`^[!-~]{1,512}$`)
)

// cursorOf makes a cursor of the address of a page. It fails on one that does not tell which page it is.
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

// pageOf reads a cursor as the parameters of a request.
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
