package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
)

// setup says where a connection led when a call began: its settings choose the account and its default calendar, and
// a consent may choose another account. A key names an effect within one calendar only. So a call that was cut off
// cannot find its effect, and would make a second one, if the connection leads elsewhere by then.
type setup struct {
	Settings string `json:"settings,omitempty"` // their digest, without the rules for slots
	Email    string `json:"email,omitempty"`    // the account's address; "": not known yet
}

func (c calendarClient) setup() (setup, error) {
	if c.sandbox {
		return setup{}, nil // it is one account, whatever its settings
	}
	raw, err := json.Marshal(adapter.WithSlots(c.connection.Settings, nil))
	if err != nil {
		return setup{}, err
	}
	sum := sha256.Sum256(raw)
	return setup{Settings: hex.EncodeToString(sum[:16]), Email: c.connection.Email}, nil
}

// isSame reports whether both may lead to the same place. The zero value, that of an earlier version's calls and of
// sandboxes, may be any.
func (s setup) isSame(other setup) bool {
	return s == (setup{}) || other == (setup{}) || s.Settings == other.Settings &&
		(s.Email == "" || other.Email == "" || strings.EqualFold(s.Email, other.Email))
}

// checkSetup returns an error if a resumed call began when the connection led elsewhere.
func (c calendarClient) checkSetup(run *journal.Run, began setup) error {
	if !run.Resumed() {
		return nil
	}
	now, err := c.setup()
	if err != nil || now.isSame(began) {
		return err
	}
	return fault.Unknowable("An earlier try was cut off, and the connection's account or settings have changed since.")
}
