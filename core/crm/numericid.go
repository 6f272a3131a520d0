package crm

import (
	"strconv"

	"frontdesk/core/fault"
)

// ParseNumericID parses an id where ids are numbers. It accepts only the form in which CRMs write them.
func ParseNumericID(id string) (int64, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == id
}

// NumericID returns an id that may be absent as the contract has it.
func NumericID(id *int64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatInt(*id, 10)
}

// NumericIDs sets the ids of the records that a new ticket names, where ids are numbers. title is the CRM's name.
func NumericIDs(t NewTicket, title string, owner, account, contact *int64) error {
	var faults []fault.Field
	for _, related := range []struct {
		path, given string
		to          *int64
	}{{"owner_id", t.OwnerID, owner}, {"account_id", t.AccountID, account}, {"contact_id", t.ContactID, contact}} {
		if related.given == "" {
			continue
		}
		var ok bool
		if *related.to, ok = ParseNumericID(related.given); !ok {
			faults = append(faults, fault.Field{Path: related.path, Message: "is not a " + title + " id. Send its digits."})
		}
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}
