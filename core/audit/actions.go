package audit

import (
	"slices"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/spelling"
)

// actions are the kinds of changes that rows tell of.
var actions = []string{
	"add-connection", "add-webhook", "adopt-phone-number", "adopt-rows", "archive-audit", "book-meeting",
	"buy-phone-number", "cancel-meeting", "change-agent", "connect-account", "copy-keyset", "create-connect-link",
	"create-key", "create-sign-in-link", "create-tenant", "create-ticket", "delete-tenant", "export-tenant",
	"hold-slot", "lose-phone-number", "prepare-key", "release-hold", "release-phone-number", "remove-connection",
	"remove-webhook", "resend-delivery", "restore-phone-number", "return-phone-number", "revoke-key", "roll-key",
	"roll-webhook", "rotate-keyset", "sign-in", "sign-out-everywhere", "update-connection", "update-meeting",
	"update-phone-number", "update-tenant",
}

// CheckAction returns a fault of the field if a list asks for an action that no row can have: an empty answer would
// say that nobody did it. "" asks for every action.
func CheckAction(field, action string) error {
	if action == "" || slices.Contains(actions, action) {
		return nil
	}
	return fault.InvalidFields(fault.Field{
		Path: field, Message: "is none of " + strings.Join(actions, ", "), Hint: spelling.Nearest(action, actions),
	})
}
