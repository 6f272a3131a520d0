package fake

import "net/http"

// actor is the sender of a request.
type actor int

const (
	anonymous actor = iota
	owner
	standardKey
	subaccount
	tester
)

// who returns the actor that a request's credentials identify.
func (s *Server) who(r *http.Request) actor {
	user, secret, basic := r.BasicAuth()
	o := s.options
	switch {
	case !basic || secret == "" || s.revoked:
		return anonymous
	case user == o.AccountSID && secret == o.AuthToken:
		return owner
	case user == o.APIKeySID && secret == o.APIKeySecret && o.StandardKey:
		return standardKey
	case user == o.APIKeySID && secret == o.APIKeySecret:
		return owner
	case user == SubaccountSID && secret == o.SubaccountToken:
		return subaccount
	case user == o.TestAccountSID && secret == o.TestAuthToken:
		return tester
	}
	return anonymous
}

// authorize returns the actor of a request if it may use the account. A parent may use its subaccounts as
// well, but no subaccount its parent (twilio.com/docs/iam/api/subaccounts, "Authentication").
func (s *Server) authorize(r *http.Request, account string) (actor, *refusal) {
	as := s.who(r)
	switch {
	case as == anonymous, as == subaccount && account == s.options.AccountSID, as == tester &&
		account != s.options.TestAccountSID:
		return as, unauthenticated()
	case as != tester && account != s.options.AccountSID && account != SubaccountSID:
		return as, notFound(account)
	}
	return as, nil
}

func (c call) showAccount() (map[string]any, *refusal) {
	kind, name := "Full", c.options.Name
	if c.options.Trial {
		kind = "Trial"
	}
	if c.account == SubaccountSID {
		name += " (subaccount)"
	}
	return map[string]any{
		"sid": c.account, "friendly_name": name, "status": c.status, "type": kind,
		"auth_token": c.options.AuthToken, "owner_account_sid": c.options.AccountSID, "uri": root + c.path,
		"subresource_uris": map[string]any{}, "date_created": "Thu, 30 Jul 2015 20:00:00 +0000",
		"date_updated": "Thu, 30 Jul 2015 20:00:00 +0000",
	}, nil
}

// showBalance serves the balance of the parent account only, which is billed for all
// (twilio.com/docs/iam/api/subaccounts, "Billing").
func (c call) showBalance() (map[string]any, *refusal) {
	if c.account != c.options.AccountSID {
		return nil, notFound(c.path)
	}
	return map[string]any{"account_sid": c.account, "balance": c.balance, "currency": "USD"}, nil
}

// test serves requests with test credentials, which change nothing and cost nothing
// (twilio.com/docs/iam/test-credentials).
func (c call) test(route string) (int, map[string]any, *refusal) {
	if route != "POST IncomingPhoneNumbers" {
		return 0, nil, refuse(http.StatusForbidden, 20008, "Resource not accessible with Test Account Credentials")
	}
	if refused := c.knows(settable("PhoneNumber", "AreaCode")...); refused != nil {
		return 0, nil, refused
	}
	e164 := c.given.Get("PhoneNumber")
	switch {
	case e164 == "+15005550000":
		return 0, nil, notAvailable(e164)
	case e164 == "" && c.given.Get("AreaCode") == "533":
		return 0, nil, noneInAreaCode("533")
	case e164 == "" && c.given.Get("AreaCode") == "500", e164 == "+15005550006":
		n := c.newNumber("+15005550006")
		if refused := c.set(n); refused != nil {
			return 0, nil, refused
		}
		return http.StatusCreated, n.body(), nil
	}
	return 0, nil, invalidNumber(e164) // +15005550001, and any number without a documented test
}
