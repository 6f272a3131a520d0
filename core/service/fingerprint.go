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

// fingerprint tells to which account and default calendar a connection led when a call began: its settings choose
// both, and a consent may choose another account. A key names an effect within one calendar only. So a call that was
// cut off cannot find its effect, and would make a second one, if the connection leads elsewhere by then. Plans call it
// setup, as those of earlier versions do.
type fingerprint struct {
	Settings string `json:"settings,omitempty"` // their digest, without the rules for slots
	Email    string `json:"email,omitempty"`    // the account's address; "": not known yet
}

func (c calendarClient) fingerprint() (fingerprint, error) {
	if c.sandbox {
		return fingerprint{}, nil // it is one account, whatever its settings
	}
	raw, err := json.Marshal(adapter.WithSlots(c.connection.Settings, nil))
	if err != nil {
		return fingerprint{}, err
	}
	sum := sha256.Sum256(raw)
	return fingerprint{Settings: hex.EncodeToString(sum[:16]), Email: c.connection.Email}, nil
}

// isSame reports whether both may lead to the same place. The zero value, that of an earlier version's calls and of
// sandboxes, may be any.
func (f fingerprint) isSame(other fingerprint) bool {
	return f == (fingerprint{}) || other == (fingerprint{}) || f.Settings == other.Settings &&
		(f.Email == "" || other.Email == "" || strings.EqualFold(f.Email, other.Email))
}

// checkAccount returns an error if a resumed call began when the connection led elsewhere.
func (c calendarClient) checkAccount(run *journal.Run, began fingerprint) error {
	if !run.Resumed() {
		return nil
	}
	now, err := c.fingerprint()
	if err != nil || now.isSame(began) {
		return err
	}
	return fault.Unknowable("An earlier try was cut off, and the connection's account or settings have changed since.")
}
