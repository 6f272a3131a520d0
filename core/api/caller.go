package api

import (
	"context"
	"strings"

	"frontdesk/core/apikey"
	"frontdesk/core/normalize"
	"frontdesk/core/phonenumber"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

// Contacts is what the operation on callers needs of core/service.
type Contacts interface {
	LookUp(context.Context, apikey.Caller, service.LookUpCaller) (record.CallerAnswer, error)
}

// lookUpCallerRequest is the body of look-up.
type lookUpCallerRequest struct {
	PhoneNumber string `json:"phone_number,omitempty" bytes:"256" doc:"The caller's number as the platform tells it: with its country code, or a word such as anonymous. Either this or email is required." example:"+12025550101"`
	Email       string `json:"email,omitempty" bytes:"320" doc:"The caller's e-mail address." example:"pat@example.com"`
}

func (r lookUpCallerRequest) input(c *checks) service.LookUpCaller {
	var in service.LookUpCaller
	switch {
	case r.PhoneNumber != "" && r.Email != "":
		c.fail("email", "must not be given beside phone_number; look up one of them")
	case r.Email != "":
		email, err := normalize.Email(r.Email)
		if err != nil {
			c.fail("email", err.Error())
		}
		in.Email = strings.ToLower(email)
	case !c.passed("phone_number") || !c.passed("email"):
	case strings.TrimSpace(r.PhoneNumber) == "":
		c.fail("phone_number", "is required, unless email is given")
	case phonenumber.Withheld(r.PhoneNumber):
		in.Withheld = true
	default:
		number, err := phonenumber.Parse(r.PhoneNumber)
		if err != nil {
			c.fail("phone_number", "is "+err.Error())
		}
		in.Phone = number
	}
	return in
}
