package sandbox

import (
	"context"
	"net/url"
	"time"
	"unicode/utf8"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

var _ telephony.Driver = (*driver)(nil)

type driver struct {
	settings   settings
	connection string
	scenarios  scenario.Provider
	purchases  scenario.Provider // for Buy, which has additional scenarios
	storage    adapter.Storage
	now        func() time.Time
}

// Traits implements telephony.Driver.
func (d *driver) Traits() telephony.Traits {
	return telephony.Traits{IdempotentBuy: true, AsyncBuy: d.settings.OrderTime > 0}
}

// Account implements telephony.Driver.
func (d *driver) Account(ctx context.Context) (telephony.Account, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(
		ctx context.Context,
	) (telephony.Account, error) {
		// The storage stands for the provider: if it fails, so does the call.
		err := d.storage.View(ctx, func(adapter.StorageTx) error { return nil })
		return telephony.Account{Name: d.settings.Account, Ref: "AC" + d.connection}, err
	})
}

// Search implements telephony.Driver.
func (d *driver) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(
		ctx context.Context,
	) (offers []telephony.Offer, err error) {
		err = d.storage.View(ctx, func(tx adapter.StorageTx) error {
			offers = nil
			for _, e164 := range d.settings.stock(s.AreaCode) {
				if len(offers) >= s.Limit {
					return nil
				}
				held, err := tx.Get(numberKey + e164)
				if err != nil {
					return err
				}
				if held == nil {
					offers = append(offers, telephony.Offer{E164: e164})
				}
			}
			return nil
		})
		return offers, err
	})
}

// Buy implements telephony.Driver.
func (d *driver) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	call := scenario.Call{About: o.E164, Request: "buy/" + o.Key, Texts: []string{o.Name}}
	if !d.settings.sold(o.E164) {
		call.About = "" // might not be a number
	}
	return scenario.Write(ctx, d.purchases, call, func(
		ctx context.Context,
	) (bought telephony.Number, err error) {
		err = d.storage.Update(ctx, func(tx adapter.StorageTx) error {
			doc, err := d.buy(tx, o)
			bought = d.number(doc)
			return err
		})
		return bought, err
	})
}

// FindOrder implements telephony.Driver.
func (d *driver) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	call := scenario.Call{About: o.E164}
	if !d.settings.sold(o.E164) {
		call.About = ""
	}
	return scenario.Read(ctx, d.scenarios, call, func(ctx context.Context) (n telephony.Number, err error) {
		err = d.storage.View(ctx, func(tx adapter.StorageTx) error {
			doc, err := documentOf(tx, o)
			n = d.number(doc)
			return err
		})
		return n, err
	})
}

// Route implements telephony.Driver.
func (d *driver) Route(employee int64, e164 string) (telephony.Routing, bool) {
	switch s := d.settings; {
	case s.SIPTrunk != "":
		return telephony.Routing{SIPTrunk: s.SIPTrunk}, true
	case s.Application != "":
		return telephony.Routing{Application: s.Application}, true
	case s.VoiceURL != "":
		return telephony.Routing{VoiceURL: telephony.VoiceURL(s.VoiceURL, employee, e164)}, true
	}
	return telephony.Routing{}, false
}

// Numbers implements telephony.Driver.
func (d *driver) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(
		ctx context.Context,
	) (page telephony.Page, err error) {
		err = d.storage.View(ctx, func(tx adapter.StorageTx) error {
			page, err = d.page(tx, q)
			return err
		})
		return page, err
	})
}

// Number implements telephony.Driver.
func (d *driver) Number(ctx context.Context, ref string) (telephony.Number, error) {
	call, err := d.about(ctx, ref)
	if err != nil {
		return telephony.Number{}, err
	}
	return scenario.Read(ctx, d.scenarios, call, func(ctx context.Context) (n telephony.Number, err error) {
		err = d.storage.View(ctx, func(tx adapter.StorageTx) error {
			doc, err := byRef(tx, ref)
			n = d.number(doc)
			return err
		})
		return n, err
	})
}

// Change implements telephony.Driver.
func (d *driver) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	call, err := d.about(ctx, ref)
	if err != nil {
		return telephony.Number{}, err
	}
	call.Request = "change/" + digest(ref, c.Name, c.Routing)
	if c.Name != nil {
		call.Texts = []string{*c.Name}
	}
	return scenario.Write(ctx, d.scenarios, call, func(ctx context.Context) (n telephony.Number, err error) {
		err = d.storage.Update(ctx, func(tx adapter.StorageTx) error {
			doc, err := byRef(tx, ref)
			if err != nil {
				return err
			}
			if c.Name != nil {
				doc.Name = *c.Name
			}
			if c.Routing != nil {
				doc.lead(*c.Routing)
			}
			if err := check(doc.Name, doc.routing()); err != nil {
				return err
			}
			n = d.number(doc)
			return adapter.PutDocument(tx, numberKey+doc.E164, doc)
		})
		return n, err
	})
}

// Release implements telephony.Driver. The number is for sale again at once.
func (d *driver) Release(ctx context.Context, ref string) error {
	call, err := d.about(ctx, ref)
	if err != nil {
		return err
	}
	call.Request = "release/" + ref
	_, err = scenario.Write(ctx, d.scenarios, call, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, d.storage.Update(ctx, func(tx adapter.StorageTx) error { return release(tx, ref) })
	})
	return err
}

// about returns a call about the number of a reference, since a number can be out of reach.
func (d *driver) about(ctx context.Context, ref string) (scenario.Call, error) {
	var call scenario.Call
	err := d.storage.View(ctx, func(tx adapter.StorageTx) error {
		doc, err := byRef(tx, ref)
		if err != nil && fault.From(err).Code == fault.NotFound {
			return nil // the call itself will return this fault
		}
		call.About = doc.E164
		return err
	})
	return call, err
}

// nameLength is the maximum number of characters in a name, as in Twilio's FriendlyName.
const nameLength = 64

// check refuses a name or routing that a provider would refuse.
func check(name string, r telephony.Routing) error {
	if utf8.RuneCountInString(name) > nameLength {
		return fault.InvalidField("name", "must have at most 64 characters.")
	}
	if r != (telephony.Routing{VoiceURL: r.VoiceURL}) && r != (telephony.Routing{Application: r.Application}) &&
		r != (telephony.Routing{SIPTrunk: r.SIPTrunk}) {
		return fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"A number can have only one of a voice URL, a voice application and a SIP trunk.")
	}
	if r.VoiceURL == "" {
		return nil
	}
	u, err := url.Parse(r.VoiceURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"The provider accepts only absolute http and https addresses for inbound calls. Correct the "+
				"connection's voice_url_template.")
	}
	return nil
}
