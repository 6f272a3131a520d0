// Package secret generates the ids of the gateway's rows and the secrets that the gateway hands out: API
// keys, the tokens of links, and the secret that binds a consent to a browser. All are from the
// system's secure random source, and all but those that sort by time are base62 characters.
//
//	key := secret.NewToken("fd_live_")
//	hash, ok := secret.HashToken(key, "fd_live_")
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"
)

// A token is a prefix, 32 base62 characters, and 6 base62 characters that are the CRC-32 (IEEE) of what
// precedes them: secret scanners can tell a token from noise, and a mistyped one is refused without a query.
const (
	bodyLength     = 32
	checksumLength = 6
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Hash is the stored form of a token. A plain SHA-256 is enough: a token has 190 bits of randomness, so there
// is nothing to guess that a slow hash would protect.
type Hash = [sha256.Size]byte

// NewToken returns a new token with the prefix.
func NewToken(prefix string) string {
	return withChecksum(prefix + Text(bodyLength))
}

// NewID returns a new id such as "conn_3ZbV...", unique by its 119 random bits.
func NewID(prefix string) string { return prefix + "_" + Text(20) }

// NewIDAt returns a new id that sorts by time, to the nanosecond, unique by its 56 further random bits. Rows
// with such ids follow each other in an index, so that those of one moment share its pages.
func NewIDAt(at time.Time) string {
	var raw [15]byte
	binary.BigEndian.PutUint64(raw[:], uint64(at.UnixNano()))
	_, _ = rand.Read(raw[8:]) // never fails: it ends the process if there is no randomness
	return base32.HexEncoding.EncodeToString(raw[:])
}

// Text returns n random characters.
func Text(n int) string {
	text, err := draw(rand.Reader, n)
	if err != nil {
		panic(err) // crypto/rand: Reader never returns an error
	}
	return text
}

// HashToken returns the hash of a well-formed token with that prefix.
func HashToken(token, prefix string) (hash Hash, ok bool) {
	if len(token) != len(prefix)+bodyLength+checksumLength || !strings.HasPrefix(token, prefix) {
		return hash, false
	}
	signed, sum := token[:len(token)-checksumLength], token[len(token)-checksumLength:]
	if subtle.ConstantTimeCompare([]byte(checksum(signed)), []byte(sum)) != 1 {
		return hash, false
	}
	return sha256.Sum256([]byte(token)), true
}

// withChecksum appends the checksum of what precedes it.
func withChecksum(text string) string { return text + checksum(text) }

// checksum writes the CRC-32 of s in six base62 digits, the most significant first.
func checksum(s string) string {
	var digits [checksumLength]byte
	n := crc32.ChecksumIEEE([]byte(s))
	for i := range digits {
		digits[len(digits)-1-i] = base62[n%62]
		n /= 62
	}
	return string(digits[:])
}

// draw draws n characters, each equally likely: bytes of 248 (4 * 62) and above are drawn again.
func draw(random io.Reader, n int) (string, error) {
	drawn := make([]byte, 0, n)
	buffer := make([]byte, n)
	for len(drawn) < n {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return "", fmt.Errorf("secret: no randomness: %w", err)
		}
		for _, b := range buffer {
			if b < 248 && len(drawn) < n {
				drawn = append(drawn, base62[b%62])
			}
		}
	}
	return string(drawn), nil
}
