package twilio

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// CheckSetup reads the application, trunk, address and bundle that the settings name. Twilio cannot check a
// webhook's URL. A key that may not read one of them can still use it, so it is skipped.
func (d *driver) CheckSetup(ctx context.Context) error {
	for _, named := range d.references() {
		var there struct {
			SID    string `json:"sid"`
			Status string `json:"status"`
		}
		if named.sid == "" {
			continue
		}
		err := d.exchangeAt(ctx, http.MethodGet, named.address, nil, &there)
		switch {
		case hasCode(err, notFound):
			return misconfigured(err, "The Twilio account has no "+named.what+" with the SID in "+named.setting+
				". Correct "+named.setting+", or create one in Twilio's Console.")
		case errors.Is(err, fault.Forbidden):
			continue
		case err != nil:
			return err
		case !strings.EqualFold(there.SID, named.sid):
			return unreadable(http.MethodGet)
		case named.approved && there.Status != "twilio-approved" && there.Status != "provisionally-approved":
			return misconfigured(nil, "The "+named.what+" given as "+named.setting+
				" is not approved by Twilio. Have it approved in Twilio's Console, or name another one.")
		}
	}
	return nil
}

// reference is a resource of the account that a setting names.
type reference struct {
	setting, what, sid, address string
	approved                    bool // it can be used only after it was approved
}

// references returns the resources that the settings name. The URLs of trunks
// (twilio.com/docs/sip-trunking/api/trunk-resource) and bundles
// (twilio.com/docs/phone-numbers/regulatory/api/bundles) name no account, so a parent's credentials do not
// find those of its subaccount.
func (d *driver) references() []reference {
	own := d.root + d.account
	all := []reference{
		{
			setting: "voice_application", what: "TwiML application", sid: d.application,
			address: own + "/Applications/" + d.application + ".json",
		},
		{setting: "address_sid", what: "address", sid: d.address,
			address: own + "/Addresses/" + d.address + ".json"},
	}
	if d.account == d.owner {
		all = append(all,
			reference{
				setting: "sip_trunk", what: "SIP trunk", sid: d.trunk,
				address: d.product("trunking") + "v1/Trunks/" + d.trunk,
			},
			reference{
				setting: "bundle_sid", what: "regulatory bundle", sid: d.bundle, approved: true,
				address: d.product("numbers") + "v2/RegulatoryCompliance/Bundles/" + d.bundle,
			},
		)
	}
	return all
}

// product returns the root URL of another of Twilio's APIs. Its host begins with its name in place of "api"
// (twilio.com/docs/global-infrastructure/using-the-twilio-rest-api-in-a-non-us-region). If this API's host
// does not begin with "api", all APIs have the same root.
func (d *driver) product(name string) string {
	return strings.Replace(strings.TrimSuffix(d.root, version+"/Accounts/"), "://api.", "://"+name+".", 1)
}

func misconfigured(err error, detail string) error {
	if err == nil {
		return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, detail)
	}
	return restate(fault.From(err), meaning{fault.Unsupported, fault.ReasonProviderMisconfigured, detail})
}
