package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"strings"

	"frontdesk/core/store"
)

// intentOf writes a call down as an intent.
func (j *Journal) intentOf(ctx context.Context, c Call) (store.Intent, error) {
	plan, err := json.Marshal(c.Plan)
	if err != nil {
		return store.Intent{}, err
	}
	request := plan
	if c.Canonical != nil {
		if request, err = json.Marshal(c.Canonical); err != nil {
			return store.Intent{}, err
		}
	}
	// What rows are looked for by, or what providers are told, must not tell what the request was to whoever
	// guesses.
	hashed, err := j.opts.Store.Digest(ctx, string(request))
	if err != nil {
		return store.Intent{}, err
	}
	intent := store.Intent{
		TenantID: c.Caller.TenantID, Operation: c.Operation, ConnectionID: c.ConnectionID,
		Kept: c.Write.IdempotencyKey != "", RequestHash: digest(string(request)), Plan: plan,
		State: store.IntentRunning, CreatedAt: j.opts.Now(), UpdatedAt: j.opts.Now(),
	}
	switch {
	case c.DedupeWindow > 0:
		intent.DedupeKey = hex.EncodeToString(digest(c.Caller.KeyID, c.Operation, c.ConnectionID, hashed))
	case c.Subject != "":
		intent.DedupeKey = SubjectKey(c.ConnectionID, c.Subject)
	}
	switch {
	case intent.Kept:
		intent.Key = "key:" + c.Write.IdempotencyKey
		// The same key and request name the same effect at the provider even if our own record of it were
		// lost.
		intent.EffectKey = EffectKey(intent.TenantID, intent.Operation, intent.Key, c.ConnectionID, hashed)
	case c.DedupeWindow > 0:
		intent.Key = "same:" + intent.DedupeKey
		intent.EffectKey = EffectKey(rand.Text())
	default:
		intent.Key = "once:" + rand.Text()
		intent.EffectKey = EffectKey(intent.Key)
	}
	return intent, nil
}

// SubjectKey returns the dedupe key of calls that change the same subject.
func SubjectKey(connectionID, subject string) string {
	return hex.EncodeToString(digest(connectionID, subject))
}

// EffectKey returns a name for an effect, derived from parts. It is in the letters that every provider takes
// as part of an id: base32hex of RFC 4648 section 7 in lower case, which is also what Google Calendar demands
// of event ids.
func EffectKey(parts ...string) string {
	sum := digest(parts...)
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// isSameRequest reports whether two intents are of one request. An answer outlives its connection.
func isSameRequest(there, now store.Intent) bool {
	return string(there.RequestHash) == string(now.RequestHash) &&
		(there.ConnectionID == now.ConnectionID || there.ConnectionID == "")
}

// digest hashes parts so that no two lists of parts collide.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}
