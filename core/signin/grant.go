package signin

import (
	"errors"
	"slices"
	"strings"

	"frontdesk/core/apikey"
)

// Grant is an entry of the configuration that lets people in: WHO=ROLE or WHO=ROLE@TENANT.
type Grant struct {
	Claim, Value string // of the ID token, cut at the first colon
	Role         apikey.Role
	Tenant       string // "": the whole gateway
}

// ParseGrant reads an entry. WHO is an e-mail address, or CLAIM:VALUE.
func ParseGrant(entry string) (Grant, error) {
	at := strings.LastIndex(entry, "=")
	if at < 0 {
		return Grant{}, errGrant
	}
	who, what := entry[:at], entry[at+1:]
	role, tenantName, limited := strings.Cut(what, "@")
	g := Grant{Role: apikey.Role(role), Tenant: tenantName}
	claim, value, named := strings.Cut(who, ":")
	g.Claim, g.Value = claim, value
	if !named {
		g.Claim, g.Value = claimEmail, who
	}
	if g.Claim == "" || g.Value == "" || !slices.Contains(apikey.Roles(), g.Role) || limited && g.Tenant == "" ||
		!named && !strings.Contains(who, "@") {
		return Grant{}, errGrant
	}
	return g, nil
}

var errGrant = errors.New("must be WHO=ROLE or WHO=ROLE@TENANT: WHO is an e-mail address or CLAIM:VALUE, and " +
	"ROLE is viewer or admin")

const claimEmail = "email"

// fits reports whether the claims are those of somebody whom the grant lets in. An address counts only if the
// provider has verified it. Names of claims may have colons as well, such as cognito:groups of Amazon Cognito
// ("Understanding the identity (ID) token", docs.aws.amazon.com), so that each colon may end the name.
func (g Grant) fits(claims map[string]any) bool {
	if g.Claim == claimEmail {
		address, _ := claims[claimEmail].(string)
		return claims["email_verified"] == true && strings.EqualFold(address, g.Value)
	}
	claim, value := g.Claim, g.Value
	for {
		switch has := claims[claim].(type) {
		case string:
			if has == value {
				return true
			}
		case []any:
			if slices.Contains(has, any(value)) {
				return true
			}
		}
		part, rest, more := strings.Cut(value, ":")
		if !more || rest == "" {
			return false
		}
		claim, value = claim+":"+part, rest
	}
}
