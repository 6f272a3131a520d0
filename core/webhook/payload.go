package webhook

import (
	"encoding/json"
	"time"

	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// Publisher returns what the store needs to write events.
func Publisher(now func() time.Time) store.Publisher {
	return store.Publisher{Now: now, NewID: func() string { return secret.NewID("msg") }, Payload: Payload}
}

// message is the body of a delivery.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

// data has names and ids, and nothing that was said about people.
type data struct {
	Tenant       string `json:"tenant,omitempty"`
	Connection   string `json:"connection,omitempty"`
	ConnectionID string `json:"connection_id,omitempty"`
	Kind         string `json:"kind,omitempty"`
	Provider     string `json:"provider,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Advice       string `json:"advice"`

	PhoneNumberID int64  `json:"phone_number_id,omitempty"`
	PhoneNumber   string `json:"phone_number,omitempty"`

	Operation string `json:"operation,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	EventID   string `json:"event_id,omitempty"`
	TicketID  string `json:"ticket_id,omitempty"`
	EffectID  string `json:"effect_id,omitempty"`
}

// Payload returns the body that tells of an event.
func Payload(e store.Event) ([]byte, error) {
	told := data{
		Tenant: e.Tenant, Connection: e.Connection, ConnectionID: e.ConnectionID, Kind: e.Kind, Provider: e.Provider,
	}
	told.Reason, told.Advice = explain(e)
	if e.Number.ID != 0 {
		told.PhoneNumberID, told.PhoneNumber = e.Number.ID, e.Number.E164
	}
	if e.Type == store.EventIntentSettled {
		told.Operation, told.RequestID, told.Outcome = e.Settled.Operation, e.Settled.RequestID, e.Settled.Outcome
		switch e.Kind {
		case "calendar":
			told.EventID = e.Settled.EffectRef
		case "crm":
			told.TicketID = e.Settled.EffectRef
		default:
			told.EffectID = e.Settled.EffectRef
		}
	}
	return json.Marshal(message{e.Type, e.At.UTC().Truncate(time.Millisecond), told})
}

// explain returns why an event happened, and what to do.
func explain(e store.Event) (reason, advice string) {
	switch e.Type {
	case store.EventConnected:
		return "", "Nothing needs to be done: the connection can be used."
	case store.EventReconnectRequired:
		return "RECONNECT_REQUIRED", "The provider refuses the connection's credentials. Send its customer a new " +
			"connect link, or enter the credentials again."
	case store.EventRecovered:
		return "", "Nothing needs to be done: the connection works again."
	case store.EventProviderDown:
		return "BREAKER_OPEN", "The provider does not answer. The gateway tries again by itself; calls fail until it " +
			"answers."
	case store.EventProviderUp:
		return "", "Nothing needs to be done: the provider answers again."
	case store.EventNumberGone:
		return "NUMBER_GONE", "The provider's account no longer has the number. If that was not intended, look for it " +
			"at the provider."
	case store.EventNumberAppeared:
		return "", "The provider's account has the number, and the gateway lists it now. Assign it if it is to be used."
	}
	switch e.Settled.Outcome {
	case "done":
		return "", "The call had its effect. Do not repeat it."
	case "unknown":
		return e.Settled.Reason, "What the call was to change has been changed since, so it cannot be known whether " +
			"the call had an effect before. Look before you repeat it."
	}
	return e.Settled.Reason, "The call had no effect. Repeat it if it is still wanted."
}

// testMessage returns the body of a test.
func testMessage(at time.Time) ([]byte, error) {
	return json.Marshal(message{
		"webhook.test", at.UTC().Truncate(time.Millisecond), data{Advice: "Nothing needs to be done: this is a test."},
	})
}
