package telnyx

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"frontdesk/core/telephony"
)

// offersAnswer is the result of a search
// (developers.telnyx.com/api-reference/phone-number-search/list-available-phone-numbers).
type offersAnswer struct {
	Data []struct {
		PhoneNumber string `json:"phone_number"`
		BestEffort  bool   `json:"best_effort"` // does not match the filters exactly
	} `json:"data"`
}

// national matches complete numbers of the North American plan. Trial accounts get others masked, such as
// +49351xxxxxxx (developers.telnyx.com/docs/account-setup/levels-and-capabilities/trial).
var national = regexp.MustCompile(`^\+1([2-9][0-9]{2})[2-9][0-9]{6}$`)

// offers returns the numbers of the area code.
func (a offersAnswer) offers(s telephony.Search) []telephony.Offer {
	var offers []telephony.Offer
	for _, o := range a.Data {
		parts := national.FindStringSubmatch(o.PhoneNumber)
		if len(offers) < s.Limit && !o.BestEffort && parts != nil && parts[1] == s.AreaCode {
			offers = append(offers, telephony.Offer{E164: o.PhoneNumber})
		}
	}
	return offers
}

// newOrder is the body of an order
// (developers.telnyx.com/api-reference/phone-number-orders/create-a-number-order).
type newOrder struct {
	PhoneNumbers []orderedNumber `json:"phone_numbers"`
	Reference    string          `json:"customer_reference"`
	ConnectionID string          `json:"connection_id,omitempty"`
}

type orderedNumber struct {
	PhoneNumber string `json:"phone_number"`
}

// reference returns the customer reference of an order with this key.
func reference(key string) string { return "frontdesk-order-" + key }

// references matches what reference returns.
var references = regexp.MustCompile(`^frontdesk-order-[a-z0-9]{1,64}$`)

type orderAnswer struct {
	Data order `json:"data"`
}

type ordersAnswer struct {
	Data []order `json:"data"`
}

// order is one order. The ids of its lines are not those of phone numbers.
type order struct {
	ID        string      `json:"id"`
	Reference string      `json:"customer_reference"`
	Status    orderStatus `json:"status"`
	Met       *bool       `json:"requirements_met"`
	CreatedAt stamp       `json:"created_at"`
	UpdatedAt stamp       `json:"updated_at"`
	Lines     []orderLine `json:"phone_numbers"`
}

type orderLine struct {
	PhoneNumber  string      `json:"phone_number"`
	Status       orderStatus `json:"status"`
	Requirements []struct {
		FieldType string `json:"field_type"`
	} `json:"regulatory_requirements"`
}

type orderStatus string

// The final statuses. With any other status, an order is under way.
const (
	succeeded orderStatus = "success"
	failed    orderStatus = "failure"
)

// lineOf returns the line of a number.
func (o order) lineOf(e164 string) (orderLine, bool) {
	for _, l := range o.Lines {
		if l.PhoneNumber == e164 {
			return l, true
		}
	}
	return orderLine{}, false
}

// changedAt returns when the order changed last; zero if Telnyx does not report it.
func (o order) changedAt() time.Time { return time.Time(cmp.Or(o.UpdatedAt, o.CreatedAt)) }

// stamp is a time. One that cannot be read is zero, so that its order can still be read.
type stamp time.Time

// UnmarshalJSON reads RFC 3339.
func (s *stamp) UnmarshalJSON(text []byte) error {
	var t time.Time
	if t.UnmarshalJSON(text) == nil {
		*s = stamp(t)
	}
	return nil
}

// numberAnswer is the response to reading, changing and deleting a number
// (developers.telnyx.com/api-reference/phone-number-configurations/retrieve-a-phone-number).
type numberAnswer struct {
	Data number `json:"data"`
}

type numbersAnswer struct {
	Data []number `json:"data"`
	Meta struct {
		TotalPages   int `json:"total_pages"`
		TotalResults int `json:"total_results"`
	} `json:"meta"`
}

type number struct {
	ID               string `json:"id"`
	PhoneNumber      string `json:"phone_number"`
	Status           string `json:"status"`
	Reference        string `json:"customer_reference"`
	ConnectionID     string `json:"connection_id"`
	DeletionLock     bool   `json:"deletion_lock_enabled"`
	EmergencyEnabled bool   `json:"emergency_enabled"`
	EmergencyStatus  string `json:"emergency_status"`
}

// standing is what the status of a number means for the account.
type standing int

const (
	held    standing = iota
	pending          // not yet usable
	gone             // not, or no longer, the account's
)

// standings holds the statuses that do not mean held. Older pages write them with underscores.
var standings = map[string]standing{
	"purchase-pending": pending, "port-pending": pending, "provision-pending": pending,
	"requirement-info-pending": pending, "requirement-info-under-review": pending,
	"requirement-info-exception": pending, "purchase-failed": gone, "port-failed": gone, "deleted": gone,
	"ported-out": gone,
}

func (n number) standing() standing { return standings[strings.ReplaceAll(n.Status, "_", "-")] }

// readable reports whether n is a number at all.
func (n number) readable() bool { return refs.MatchString(n.ID) && n.PhoneNumber != "" }

// number converts n into a number of the contract.
func (n number) number() telephony.Number {
	made := telephony.Number{
		Ref: n.ID, E164: n.PhoneNumber, Name: n.Reference, Routing: telephony.Routing{Application: n.ConnectionID},
		Pending: n.standing() == pending, Block: n.block(),
	}
	if references.MatchString(n.Reference) {
		made.Name = ""
	}
	return made
}

// block returns why the number must not be released. Telnyx itself refuses to delete a locked one. A number
// that is registered for emergency calls, or is being registered or unregistered, is kept for the emergency
// services.
func (n number) block() telephony.Block {
	switch n.EmergencyStatus {
	case "active", "provisioning", "deprovisioning":
		return telephony.BlockEmergency
	}
	switch {
	case n.EmergencyEnabled:
		return telephony.BlockEmergency
	case n.DeletionLock:
		return telephony.BlockLock
	}
	return telephony.BlockNone
}

// numberChange is the body of a change. An empty connection id removes the connection.
type numberChange struct {
	Reference    *string `json:"customer_reference,omitempty"`
	ConnectionID *string `json:"connection_id,omitempty"`
}

// whoAmI is the owner of an API key. The account id of TeXML is the organization's.
// (github.com/team-telnyx/telnyx-api-cli checks keys in the same way.)
type whoAmI struct {
	Data struct {
		OrganizationID   string `json:"organization_id"`
		OrganizationName string `json:"organization_name"`
		UserID           string `json:"user_id"`
		Email            string `json:"email"`
	} `json:"data"`
}

func (w whoAmI) account() telephony.Account {
	return telephony.Account{
		Name: cmp.Or(w.Data.OrganizationName, w.Data.Email), Ref: cmp.Or(w.Data.OrganizationID, w.Data.UserID),
	}
}
