package api

import (
	"context"
	"strconv"

	"frontdesk/core/apikey"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

// Numbers is what the phone-number operations need of core/service.
type Numbers interface {
	List(context.Context, apikey.Caller) (record.PhoneNumbersAnswer, error)
	Get(ctx context.Context, caller apikey.Caller, id int64) (record.PhoneNumber, error)
	Buy(
		context.Context, apikey.Caller, service.Write, service.BuyNumber,
	) (service.Answer[record.PhoneNumber], error)
	Update(
		context.Context, apikey.Caller, service.Write, service.UpdateNumber,
	) (service.Answer[record.PhoneNumber], error)
	Release(
		ctx context.Context, caller apikey.Caller, w service.Write, id int64,
	) (service.Answer[struct{}], error)
}

// numberRequest names a phone number in the path.
type numberRequest struct {
	ID int64 `json:"-" path:"id" doc:"The phone number's id." example:"4711"`
}

func (r numberRequest) input(*checks) int64 { return r.ID }

// BuyPhoneNumberRequest is the body of buying a number. It is exported for its name in the OpenAPI document.
type BuyPhoneNumberRequest struct {
	AreaCode string  `json:"area_code" need:"true" pattern:"^[2-9][0-9]{2}$" doc:"NANP area code, assigned and geographic." example:"415"`
	Name     *string `json:"name,omitempty" doc:"Display name, 1 to 64 characters after trimming. The default is the number itself." example:"Front office"`
	Inbound  *int64  `json:"inbound_cloud_employee_id,omitempty" doc:"Cloud employee to handle inbound calls." example:"7"`
	Outbound *int64  `json:"outbound_cloud_employee_id,omitempty" doc:"Cloud employee to handle outbound calls." example:"7"`
}

func (r BuyPhoneNumberRequest) input(c *checks) service.BuyNumber {
	in := service.BuyNumber{
		Inbound: r.Inbound, Outbound: r.Outbound, AreaCode: c.areaCode("area_code", r.AreaCode),
	}
	if name := c.displayName(r.Name); name != nil {
		in.Name = *name
	}
	return in
}

// UpdatePhoneNumberRequest is the body of updating a number. It is a merge: absent fields stay unchanged.
type UpdatePhoneNumberRequest struct {
	ID       int64    `json:"-" path:"id" doc:"The phone number's id." example:"4711"`
	Name     *string  `json:"name,omitempty" doc:"New display name, 1 to 64 characters after trimming." example:"Night line"`
	Inbound  employee `json:"inbound_cloud_employee_id,omitzero" doc:"Cloud employee to handle inbound calls; null unassigns." example:"7"`
	Outbound employee `json:"outbound_cloud_employee_id,omitzero" doc:"Cloud employee to handle outbound calls; null unassigns." example:"7"`
}

func (r UpdatePhoneNumberRequest) input(c *checks) service.UpdateNumber {
	return service.UpdateNumber{
		ID:       r.ID,
		Name:     c.displayName(r.Name),
		Inbound:  service.EmployeeChange(r.Inbound),
		Outbound: service.EmployeeChange(r.Outbound),
	}
}

func numberLocation(n record.PhoneNumber) string {
	return "/beta/phone-numbers/" + strconv.FormatInt(n.ID, 10)
}
