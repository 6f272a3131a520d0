package fake

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

func (c call) findNumber(is func(*Number) bool) *Number {
	i := slices.IndexFunc(c.numbers, func(n *Number) bool { return n.Account == c.account && is(n) })
	if i < 0 {
		return nil
	}
	return c.numbers[i]
}

func (c call) newNumber(e164 string) *Number {
	c.made++
	return &Number{
		SID: fmt.Sprintf("PN%032x", c.made), Account: c.account, E164: e164, Name: format(e164),
		VoiceURL: c.options.DefaultVoiceURL, VoiceMethod: "POST",
		Created: c.options.Now().UTC().Truncate(time.Second),
	}
}

var e164s = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)

// buy sells exactly the number named or, if none is, any number of an area code.
func (c call) buy() (int, map[string]any, *refusal) {
	if refused := c.knows(settable("PhoneNumber", "AreaCode")...); refused != nil {
		return 0, nil, refused
	}
	e164, areaCode := c.given.Get("PhoneNumber"), c.given.Get("AreaCode")
	switch {
	case e164 != "" && !e164s.MatchString(e164), e164 == "" && areaCode == "":
		return 0, nil, invalidNumber(e164)
	case e164 != "":
		if n := c.findNumber(func(n *Number) bool { return n.E164 == e164 }); n != nil {
			return c.buyAgain(n)
		}
	}
	fits := func(one stocked) bool { return one.e164 == e164 || e164 == "" && areaCodeOf(one.e164) == areaCode }
	i := slices.IndexFunc(c.stock, fits)
	switch {
	case i < 0 && e164 == "":
		return 0, nil, noneInAreaCode(areaCode)
	case i < 0:
		return 0, nil, notAvailable(e164)
	case c.snatches > 0:
		c.snatches--
		one, _ := c.takeFromStock(fits)
		return 0, nil, notAvailable(one.e164)
	}
	if refused := c.sellable(c.stock[i]); refused != nil {
		return 0, nil, refused
	}
	n := c.newNumber(c.stock[i].e164)
	if refused := c.set(n); refused != nil {
		return 0, nil, refused
	}
	c.stock = slices.Delete(c.stock, i, i+1)
	c.numbers = slices.Insert(c.numbers, 0, n)
	c.purchases++
	return http.StatusCreated, n.body(), nil
}

// buyAgain serves an order of a number that the account holds: an update of it, with the response of a
// purchase (github.com/danielberkompas/ex_twilio/pull/116).
func (c call) buyAgain(n *Number) (int, map[string]any, *refusal) {
	if c.options.RefusesHeld {
		return 0, nil, notAvailable(n.E164)
	}
	if refused := c.set(n); refused != nil {
		return 0, nil, refused
	}
	return http.StatusCreated, n.body(), nil
}

// sellable refuses a number that the account may not buy. No code is documented for a balance that is used
// up: the response is any 400.
func (c call) sellable(one stocked) *refusal {
	switch {
	case c.options.Trial && c.account == SubaccountSID:
		return refuse(http.StatusBadRequest, 10002, "Trial accounts do not support the feature you tried to use")
	case c.options.Trial && c.findNumber(func(*Number) bool { return true }) != nil:
		return refuse(http.StatusBadRequest, 21404,
			"Trial accounts are allowed only one Twilio number. To purchase additional numbers, please upgrade your "+
				"account.")
	case !(c.funds() > 0):
		return refuse(http.StatusBadRequest, 20001, "Your account does not have enough funds")
	case one.needs != "none" && c.given.Get("AddressSid") == "":
		return refuse(http.StatusBadRequest, 21631,
			"Phone Number Requires an Address but the 'AddressSid' parameter was empty.")
	case one.bundle && c.given.Get("BundleSid") == "":
		return refuse(http.StatusBadRequest, 21649, "Bundle required and not provided")
	}
	return nil
}

// settable returns the parameters that a number can be bought and changed with, and the others given.
func settable(others ...string) []string {
	return append(others, "FriendlyName", "VoiceUrl", "VoiceMethod", "VoiceApplicationSid", "TrunkSid", "SmsUrl",
		"SmsApplicationSid", "AddressSid", "BundleSid")
}

func (c call) update(n *Number) (int, map[string]any, *refusal) {
	if refused := c.knows(settable()...); refused != nil {
		return 0, nil, refused
	}
	if !c.ignoring {
		if refused := c.set(n); refused != nil {
			return 0, nil, refused
		}
	}
	return http.StatusOK, n.body(), nil
}

// set changes a number as the form says, or refuses and changes nothing. An empty value clears. Setting a
// trunk deletes the application and vice versa, whatever the value: a request that names both leaves neither.
func (c call) set(n *Number) *refusal {
	to := *n
	for _, p := range []struct {
		name  string
		field *string
		fits  func(string) bool
		code  int
	}{
		{"FriendlyName", &to.Name, func(v string) bool { return utf8.RuneCountInString(v) <= 64 }, 20002},
		{"VoiceUrl", &to.VoiceURL, isAddress, 21402},
		{"VoiceMethod", &to.VoiceMethod, func(v string) bool { return v == "POST" || v == "GET" }, 21403},
		{"SmsUrl", &to.SMSURL, isAddress, 21402},
		{"SmsApplicationSid", &to.SMSApplication, c.isThere(Application), 21420},
		{"VoiceApplicationSid", &to.Application, c.isThere(Application), 21420},
		{"TrunkSid", &to.Trunk, c.isThere(Trunk), 20404},
		{"AddressSid", &to.Address, c.isThere(Address), 21628},
		{"BundleSid", &to.Bundle, c.isThere(Bundle), 21649},
	} {
		given, there := c.given[p.name]
		if !there {
			continue
		}
		if !p.fits(given[0]) {
			return refuse(http.StatusBadRequest, p.code, "Invalid "+p.name)
		}
		*p.field = given[0]
	}
	if c.given.Has("VoiceApplicationSid") {
		to.Trunk = ""
	}
	if c.given.Has("TrunkSid") {
		to.Application = ""
	}
	if to.Name == "" {
		to.Name = format(to.E164)
	}
	*n = to
	return nil
}

func isAddress(v string) bool {
	u, err := url.Parse(v)
	return v == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (c call) isThere(known string) func(string) bool {
	return func(v string) bool { return v == "" || v == known && !slices.Contains(c.removed, v) }
}

// release releases a number. It refuses one with a registered emergency address (help.twilio.com, "Cancel or
// release a Twilio number"), for which no code is documented.
func (c call) release(n *Number) (int, map[string]any, *refusal) {
	if n.EmergencyNow != "" && n.EmergencyNow != "unregistered" && n.EmergencyNow != "registration-failure" {
		return 0, nil, refuse(http.StatusBadRequest, 20001, "The phone number has a registered emergency address")
	}
	c.numbers = slices.DeleteFunc(c.numbers, func(one *Number) bool { return one == n })
	return http.StatusNoContent, nil, nil
}

// body returns the number as in the API: some values that are not set are null, and some are "".
func (n *Number) body() map[string]any {
	date := n.Created.Format("Mon, 02 Jan 2006 15:04:05 -0700")
	return map[string]any{
		"sid": n.SID, "account_sid": n.Account, "phone_number": n.E164, "friendly_name": n.Name,
		"date_created": date, "date_updated": date, "status": "in-use", "type": "local", "origin": "twilio",
		"beta": false, "api_version": "2010-04-01",
		"capabilities":         map[string]any{"voice": true, "sms": true, "mms": true, "fax": false},
		"address_requirements": "none", "address_sid": orNull(n.Address), "bundle_sid": orNull(n.Bundle),
		"identity_sid": nil, "voice_url": orNull(n.VoiceURL), "voice_method": n.VoiceMethod,
		"voice_fallback_url": nil, "voice_fallback_method": "POST", "voice_application_sid": n.Application,
		"voice_caller_id_lookup": false, "voice_receive_mode": "voice", "trunk_sid": orNull(n.Trunk),
		"sms_url": n.SMSURL, "sms_method": "POST", "sms_fallback_url": "", "sms_fallback_method": "POST",
		"sms_application_sid": n.SMSApplication, "status_callback": "", "status_callback_method": "POST",
		"emergency_status": "Active", "emergency_address_sid": orNull(n.EmergencyAddress),
		"emergency_address_status": orNull(n.EmergencyNow),
		"uri": root +
			strings.Join([]string{"Accounts", n.Account, "IncomingPhoneNumbers", n.SID + ".json"}, "/"),
	}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
