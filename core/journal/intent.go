package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"strings"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// intentOf returns the intent of a call.
func (j *Journal) intentOf(ctx context.Context, c Call) (store.Intent, error) {
	plan, err := json.Marshal(c.Plan)
	if err != nil {
		return store.Intent{}, err
	}
	request, err := requestOf(c.Plan)
	if err != nil {
		return store.Intent{}, err
	}
	// Lookup keys and the keys that providers see must not let anyone confirm a guess at the request. So they
	// are built from its digest.
	hashed, err := j.opts.Store.Digest(ctx, request)
	if err != nil {
		return store.Intent{}, err
	}
	intent := store.Intent{
		TenantID: c.Caller.TenantID, Operation: c.Operation, ConnectionID: c.ConnectionID,
		Kept: c.Write.IdempotencyKey != "", RequestHash: digest(request), Plan: plan,
		RequestID: audit.RequestID(ctx),
		State:     store.IntentRunning, CreatedAt: j.opts.Now(), UpdatedAt: j.opts.Now(),
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
		// The same key and request give the same effect key, even if our own record of the effect is lost.
		intent.EffectKey = EffectKey(intent.TenantID, intent.Operation, intent.Key, c.ConnectionID, hashed)
	case c.DedupeWindow > 0:
		intent.Key = store.EqualKey(intent.DedupeKey)
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

// EffectKey derives the name of an effect from parts. Its characters are accepted by every provider in ids:
// base32hex of RFC 4648 section 7 in lower case, which Google Calendar requires of event ids.
func EffectKey(parts ...string) string {
	sum := digest(parts...)
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// isSameRequest reports whether an earlier intent has the request of the call. The earlier intent may have lost its
// connection, since an answer outlives its connection. An earlier version of the gateway may have hashed another form
// of an equal request, so what its plan says counts as well.
func (s *submission) isSameRequest(there store.Intent) bool {
	now := s.intent
	return (there.ConnectionID == now.ConnectionID || there.ConnectionID == "") &&
		(bytes.Equal(there.RequestHash, now.RequestHash) || bytes.Equal(s.hash(there.Plan), now.RequestHash))
}

// hashOf returns the hash of the request in a plan, as this version has it; nil if the plan cannot be read.
func hashOf[P any](plan json.RawMessage) []byte {
	var p P
	if json.Unmarshal(plan, &p) != nil {
		return nil
	}
	request, err := requestOf(p)
	if err != nil {
		return nil
	}
	return digest(request)
}

// requestOf returns the request in a plan as JSON, in the form that equal calls share.
func requestOf(plan any) (string, error) {
	if p, ok := plan.(Canonical); ok {
		plan = p.Canonical()
	}
	request, err := json.Marshal(plan)
	return string(request), err
}

// digest hashes parts with their lengths, so that different lists of parts do not collide.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}
