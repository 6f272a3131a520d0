package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"frontdesk/core/store"
)

// The purpose of a MAC comes first in its input, so that it is valid for no other purpose.
const (
	ofRow      = "frontdesk audit row 1"
	ofPosition = "frontdesk audit place 1" // "place" stays: MACs that are stored depend on it
	ofHead     = "frontdesk audit head 1"
	ofBoundary = "frontdesk audit boundary 1"
)

// encoding is the canonical form of a MAC's input. Each text is preceded by its length and each list by its
// count, so that different inputs have different encodings.
type encoding []byte

func (e encoding) number(n int64) encoding { return binary.BigEndian.AppendUint64(e, uint64(n)) }

func (e encoding) text(s string) encoding { return append(e.number(int64(len(s))), s...) }

func (e encoding) texts(list ...string) encoding {
	for _, s := range list {
		e = e.text(s)
	}
	return e
}

// row appends the content of a row, which is everything but its position and its MAC.
func (e encoding) row(r store.AuditRow) encoding {
	e = e.text(r.UID).number(r.At.UnixMilli())
	e = e.texts(r.TenantID, r.Tenant, r.Actor, r.Action, r.ConnectionID, r.Subject)
	e = e.number(int64(len(r.Changed))).texts(r.Changed...)
	return e.texts(r.Outcome, r.Effect, r.RequestID, r.KeyID)
}

// mac returns the MAC of an encoding under the key of that id, or "" if the ring does not hold the key.
func (k *ring) mac(keyID string, e encoding) string {
	key, held := k.held[keyID]
	if !held {
		return ""
	}
	h := hmac.New(sha256.New, key)
	h.Write(e)
	return hex.EncodeToString(h.Sum(nil))
}

// macOf returns the MAC of a row that is not in the chain yet.
func (k *ring) macOf(r store.AuditRow) string {
	return k.mac(r.KeyID, encoding(nil).text(ofRow).row(r))
}

// macAfter returns the MAC of a row in its position. before is the MAC of the row before it.
func (k *ring) macAfter(r store.AuditRow, before string) string {
	return k.mac(r.KeyID, encoding(nil).text(ofPosition).number(r.ID).text(before).row(r))
}

// seal returns the MAC of a head.
func (k *ring) seal(h store.AuditHead) string {
	return k.mac(h.KeyID, encoding(nil).text(ofHead).number(h.Count).texts(h.MAC, h.KeyID))
}

// sealBoundary returns the MAC of a boundary.
func (k *ring) sealBoundary(b store.AuditBoundary) string {
	return k.mac(b.KeyID, encoding(nil).text(ofBoundary).number(b.Count).texts(b.MAC, b.Kept, b.KeyID))
}

// keep adds an archived row to the digest of those that stay in the database. The digest needs no key, since
// the boundary's MAC covers it.
func keep(digest string, r store.AuditRow) string {
	sum := sha256.Sum256(encoding(nil).text(digest).number(r.ID).row(r).text(r.MAC))
	return hex.EncodeToString(sum[:])
}

// same reports whether two MACs are equal. An empty MAC equals none.
func same(a, b string) bool { return a != "" && hmac.Equal([]byte(a), []byte(b)) }
