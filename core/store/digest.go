package store

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// hashKeyBytes is the length of a key. It is the length of the hash, as RFC 2104 section 3 advises.
const hashKeyBytes = 32

// Digest returns a hash of a text by which rows are looked up. It is keyed, so that someone who has the rows
// but not the key set cannot guess the text by trial. All replicas share one key, which stays through
// rotations. Without a sealer the hash has no key.
func (s *Store) Digest(ctx context.Context, text string) (string, error) {
	if s.sealer == nil {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:]), nil
	}
	key := s.hashKey.Load()
	if key == nil {
		had, err := s.findHashKey(ctx)
		if err != nil {
			return "", err
		}
		key = &had
		s.hashKey.Store(key)
	}
	h := hmac.New(sha256.New, *key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// findHashKey returns the key, and creates it if there is none. If several replicas create one, the first one
// stays.
func (s *Store) findHashKey(ctx context.Context) ([]byte, error) {
	row := []string{"intents"}
	find := func() (key []byte, found bool, err error) {
		scan := func(row scanner) (kept []byte, err error) { return kept, row.Scan(&kept) }
		key, found, err = findIn(ctx, s, scan, "SELECT sealed FROM hash_keys WHERE name = $1", row[0])
		if err != nil || !found {
			return nil, found, err
		}
		key, err = s.open(sealedHashKeys, 0, row, key)
		return key, true, err
	}
	if key, found, err := find(); found || err != nil {
		return key, err
	}
	made := make([]byte, hashKeyBytes)
	if _, err := rand.Read(made); err != nil {
		return nil, err
	}
	sealed, err := s.seal(sealedHashKeys, 0, row, made)
	if err != nil {
		return nil, err
	}
	const insert = "INSERT INTO hash_keys (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
	if _, err := s.exec(ctx, insert, row[0], sealed); err != nil {
		return nil, err
	}
	key, _, err := find()
	return key, err
}
