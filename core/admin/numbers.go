package admin

import (
	"context"
	"encoding/json"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

// PhoneNumber is a phone number that a tenant holds.
type PhoneNumber struct {
	ID         int64      `json:"id" doc:"Its id, as the interface has it." example:"4711"`
	E164       string     `json:"e164" doc:"The number." example:"+14155550123"`
	Name       string     `json:"name" doc:"Its display name." example:"Front office"`
	Connection string     `json:"connection" doc:"The telephony connection that it belongs to." example:"twilio"`
	Inbound    *int64     `json:"inbound_cloud_employee_id,omitempty" doc:"The cloud employee that answers."`
	Outbound   *int64     `json:"outbound_cloud_employee_id,omitempty" doc:"The cloud employee that calls."`
	ReleaseAt  *time.Time `json:"release_at,omitempty" doc:"When it goes back to the provider. Until then it can be restored."`
	Going      bool       `json:"going,omitempty" doc:"Whether it is on its way back to the provider."`
}

// PhoneNumbers is the answer of ListNumbers.
type PhoneNumbers struct {
	PhoneNumbers []PhoneNumber `json:"phone_numbers" nullable:"false" doc:"The tenant's numbers, with those that wait to go back."`
}

// NumberID names a phone number of a tenant.
type NumberID struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     int64  `path:"id" doc:"The phone number's id." example:"4711"`
}

// HeldNumber names a number that the account of a connection holds already.
type HeldNumber struct {
	Tenant, Connection string // Connection "": the tenant's default telephony connection
	E164               string
}

// NumberPurchase describes a number to be bought.
type NumberPurchase struct {
	Tenant, Connection string // Connection "": the tenant's default telephony connection
	service.BuyNumber
}

// NumberChange describes a change of a number.
type NumberChange struct {
	Tenant string
	service.UpdateNumber
}

// EmployeeChange is a change of the cloud employee of a number.
type EmployeeChange = service.EmployeeChange

// BuyNumber buys a number as an API key of the tenant would.
func (s *Service) BuyNumber(
	ctx context.Context, c apikey.Caller, w Write, n NumberPurchase,
) (service.Answer[PhoneNumber], error) {
	if err := reaches(c, n.Tenant); err != nil {
		return service.Answer[PhoneNumber]{}, err
	}
	if wrong := n.Check(); len(wrong) > 0 {
		return service.Answer[PhoneNumber]{}, fault.InvalidFields(wrong...)
	}
	as, err := s.numbersCaller(ctx, n.Tenant, n.Connection)
	if err != nil {
		return service.Answer[PhoneNumber]{}, err
	}
	answer, err := s.opts.Numbers.Buy(ctx, as, ownWrite(ctx, w), n.BuyNumber)
	return numberAnswer(as, answer, err)
}

// Check returns what is wrong with a purchase, and trims its name.
func (n *NumberPurchase) Check() (wrong []fault.Field) {
	if text := service.CheckAreaCode(n.AreaCode); text != "" {
		wrong = append(wrong, fault.Field{Path: "area_code", Message: text})
	}
	if n.Name != "" {
		wrong = append(wrong, checkName(&n.Name)...)
	}
	return wrong
}

// Check returns what is wrong with a change, and trims its name.
func (n *NumberChange) Check() []fault.Field {
	if n.Name == nil {
		return nil
	}
	n.Name = new(*n.Name)
	return checkName(n.Name)
}

func checkName(name *string) []fault.Field {
	trimmed, wrong := service.CheckNumberName(*name)
	if *name = trimmed; wrong == "" {
		return nil
	}
	return []fault.Field{{Path: "name", Message: wrong}}
}

// ChangeNumber changes the name and the employees of a number.
func (s *Service) ChangeNumber(
	ctx context.Context, c apikey.Caller, w Write, n NumberChange,
) (service.Answer[PhoneNumber], error) {
	if wrong := n.Check(); len(wrong) > 0 {
		return service.Answer[PhoneNumber]{}, fault.InvalidFields(wrong...)
	}
	as, err := s.holder(ctx, c, NumberID{n.Tenant, n.ID})
	if err != nil {
		return service.Answer[PhoneNumber]{}, err
	}
	answer, err := s.opts.Numbers.Update(ctx, as, ownWrite(ctx, w), n.UpdateNumber)
	return numberAnswer(as, answer, err)
}

// ReleaseNumber gives a number back to its provider, at once or after the connection's release_delay.
func (s *Service) ReleaseNumber(
	ctx context.Context, c apikey.Caller, w Write, n NumberID,
) (service.Answer[Done], error) {
	as, err := s.holder(ctx, c, n)
	if err != nil {
		return service.Answer[Done]{}, err
	}
	answer, err := s.opts.Numbers.Release(ctx, as, ownWrite(ctx, w), n.ID)
	return service.Answer[Done]{Body: answer.Body, Replayed: answer.Replayed}, err
}

// ownWrite returns the write of a caller of the admin interface. Its Idempotency-Key names the call among
// those of the same actor only. No API key can send such a key: theirs are printable.
func ownWrite(ctx context.Context, w Write) Write {
	if w.IdempotencyKey != "" {
		w.IdempotencyKey = audit.Actor(ctx) + "\x1f" + w.IdempotencyKey
	}
	return w
}

// numberAnswer returns the answer of a use case on a number as the admin interface shows it.
func numberAnswer(
	as apikey.Caller, given service.Answer[record.PhoneNumber], err error,
) (service.Answer[PhoneNumber], error) {
	if err != nil {
		return service.Answer[PhoneNumber]{}, err
	}
	n := PhoneNumber{
		ID: given.Record.ID, E164: given.Record.E164, Name: given.Record.Name,
		Connection: as.Connections[adapter.KindTelephony].Name,
		Inbound:    given.Record.InboundCloudEmployeeID, Outbound: given.Record.OutboundCloudEmployeeID,
	}
	body, err := json.Marshal(n)
	return service.Answer[PhoneNumber]{Record: n, Body: body, Replayed: given.Replayed}, err
}

// holder returns the caller for work on a number of a tenant.
func (s *Service) holder(ctx context.Context, c apikey.Caller, n NumberID) (apikey.Caller, error) {
	t, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return apikey.Caller{}, err
	}
	connectionID, err := s.opts.Numbers.ConnectionOf(ctx, t.ID, n.ID)
	if err != nil {
		return apikey.Caller{}, err
	}
	return s.opts.Callers.CallerOf(ctx, t.ID, connectionID)
}

// ListNumbers lists the phone numbers of a tenant from the gateway's table, including those that wait to go
// back.
func (s *Service) ListNumbers(ctx context.Context, c apikey.Caller, tenantName string) (PhoneNumbers, error) {
	answer := PhoneNumbers{PhoneNumbers: []PhoneNumber{}}
	t, err := s.tenant(ctx, c, tenantName)
	if err != nil {
		return answer, err
	}
	connections, err := connection.OfTenant(ctx, s.opts.Store, t.ID)
	if err != nil {
		return answer, err
	}
	names := map[string]string{}
	for _, c := range connections {
		names[c.ID] = c.Name
	}
	rows, err := s.opts.Numbers.Held(ctx, t.ID)
	for _, row := range rows {
		answer.PhoneNumbers = append(answer.PhoneNumbers, PhoneNumber{
			ID: row.ID, E164: row.E164, Name: row.Name, Connection: names[row.ConnectionID], Inbound: row.Inbound,
			Outbound: row.Outbound, ReleaseAt: when(row.ReleaseAt), Going: row.Going,
		})
	}
	return answer, err
}

// GetNumber returns one of the tenant's numbers.
func (s *Service) GetNumber(ctx context.Context, c apikey.Caller, n NumberID) (PhoneNumber, error) {
	all, err := s.ListNumbers(ctx, c, n.Tenant)
	for _, each := range all.PhoneNumbers {
		if each.ID == n.ID {
			return each, err
		}
	}
	if err == nil {
		err = fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no such phone number.")
	}
	return PhoneNumber{}, err
}

// RestoreNumber puts a released number that still waits back into use.
func (s *Service) RestoreNumber(ctx context.Context, c apikey.Caller, n NumberID) (PhoneNumber, error) {
	t, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return PhoneNumber{}, err
	}
	if _, err := s.opts.Numbers.Restore(ctx, t.ID, n.ID); err != nil {
		return PhoneNumber{}, err
	}
	return s.GetNumber(ctx, c, n)
}

// AdoptNumber gives a connection a number that its account already holds.
func (s *Service) AdoptNumber(ctx context.Context, c apikey.Caller, n HeldNumber) (PhoneNumber, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return PhoneNumber{}, err
	}
	as, err := s.numbersCaller(ctx, n.Tenant, n.Connection)
	if err != nil {
		return PhoneNumber{}, err
	}
	row, err := s.opts.Numbers.Adopt(ctx, as, n.E164)
	if err != nil {
		return PhoneNumber{}, err
	}
	return s.GetNumber(ctx, c, NumberID{n.Tenant, row.ID})
}

// numbersCaller returns the caller for work on a telephony connection. If name is "", it uses the tenant's
// default telephony connection.
func (s *Service) numbersCaller(ctx context.Context, tenantName, name string) (apikey.Caller, error) {
	connections, err := s.opts.Connections.List(ctx, tenantName)
	if err != nil {
		return apikey.Caller{}, err
	}
	for _, c := range connections {
		if c.Kind == adapter.KindTelephony && (c.Name == name || name == "" && c.IsDefault) {
			return s.opts.Callers.CallerOf(ctx, c.TenantID, c.ID)
		}
	}
	if name == "" {
		return apikey.Caller{}, fault.Newf(fault.NotFound, connection.ReasonNotFound,
			"The tenant %q has no telephony connection.", tenantName)
	}
	return apikey.Caller{}, fault.Newf(fault.NotFound, connection.ReasonNotFound,
		"The tenant %q has no telephony connection %q.", tenantName, name)
}
