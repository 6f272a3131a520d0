package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
)

// Standard Webhooks asks for 24 to 64 random bytes, in base64 after this prefix.
const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// secrets are the signing secrets of a webhook, as its row has them sealed. While several are valid, each
// delivery has all their signatures, so that its receiver can change from one to another at any time.
type secrets struct {
	Current     string         `json:"current"`
	Former      string         `json:"former,omitempty"` // the last one before
	FormerUntil time.Time      `json:"former_until,omitzero"`
	Earlier     []formerSecret `json:"earlier,omitempty"` // those before Former, the newest first
}

// formerSecret is a secret that still signs until its end.
type formerSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until"`
}

// maxFormers keeps the header with the signatures short.
const maxFormers = 5

// formers returns the former secrets that are valid, the newest first.
func (s secrets) formers(at time.Time) []formerSecret {
	all := append([]formerSecret{{s.Former, s.FormerUntil}}, s.Earlier...)
	return slices.DeleteFunc(all, func(f formerSecret) bool { return f.Secret == "" || !at.Before(f.Until) })
}

// next returns the secrets after text has taken the current one's place. Those that are valid stay so as long
// as was promised. An overlap of 0 ends them all: it is for a secret that others have come to know.
func (s secrets) next(text string, at time.Time, overlap time.Duration) secrets {
	next := secrets{Current: text}
	if overlap > 0 {
		next.Former, next.FormerUntil = s.Current, at.Add(overlap).UTC()
		next.Earlier = s.formers(at)
		next.Earlier = next.Earlier[:min(len(next.Earlier), maxFormers-1)]
	}
	return next
}

func newSecret() string {
	raw := make([]byte, secretBytes)
	rand.Read(raw)
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// seal seals the secrets into a row whose other columns are already as they are to be stored.
func (s secrets) seal(sealer sealing.Sealer, w *store.Webhook) error {
	plain, err := json.Marshal(s)
	if err != nil {
		return fault.From(err)
	}
	defer clear(plain)
	return sealer.SealWebhook(w, plain)
}

// openSecrets returns the secrets of a webhook. It fails if the row is not as the gateway wrote it.
func openSecrets(sealer sealing.Sealer, w store.Webhook) (s secrets, err error) {
	plain, err := sealer.OpenWebhook(w)
	if err != nil {
		return s, err
	}
	defer clear(plain)
	if json.Unmarshal(plain, &s) != nil { // the decoder's text may quote what it read
		return s, fault.Newf(fault.Internal, fault.ReasonInternal,
			"The secrets of the webhook %s are not as this program seals them.", w.ID)
	}
	return s, nil
}

// sign returns the value of webhook-signature: a signature by each secret that is valid.
func (s secrets) sign(id string, at time.Time, body []byte) (string, error) {
	valid := []string{s.Current}
	for _, f := range s.formers(at) {
		valid = append(valid, f.Secret)
	}
	signatures := make([]string, 0, len(valid))
	for _, text := range valid {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, secretPrefix))
		if err != nil {
			return "", fault.New(fault.Internal, fault.ReasonInternal, "A webhook's secret cannot be decoded.")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " "), nil
}
