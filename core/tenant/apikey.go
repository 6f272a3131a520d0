package tenant

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// An API key is a prefix, 32 base62 characters from the system's secure random source, and 6 base62
// characters that are the CRC-32 (IEEE) of what precedes them: secret scanners can tell a key from noise, and
// a mistyped one is refused without a query.
const (
	livePrefix     = "fd_live_"
	testPrefix     = "fd_test_"
	bodyLength     = 32
	checksumLength = 6
	shownLength    = len(livePrefix) + 4 // by which people recognise a key
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// keyHash is what is stored of a key. A plain SHA-256 is enough: a key has 190 bits of randomness, so there
// is nothing to guess that a slow hash would protect.
type keyHash = [sha256.Size]byte

// makeKey makes a new key.
func makeKey(random io.Reader, test bool) (string, error) {
	prefix := livePrefix
	if test {
		prefix = testPrefix
	}
	return makeToken(random, prefix)
}

// readKey returns the hash of a well-formed key.
func readKey(key string) (hash keyHash, ok bool) {
	if strings.HasPrefix(key, testPrefix) {
		return readToken(key, testPrefix)
	}
	return readToken(key, livePrefix)
}

// makeToken makes what API keys and the tokens of links are: a prefix, a random body and their checksum.
func makeToken(random io.Reader, prefix string) (string, error) {
	body, err := randomBase62(random, bodyLength)
	if err != nil {
		return "", err
	}
	return prefix + body + checksum(prefix+body), nil
}

// readToken returns the hash of a well-formed token with that prefix.
func readToken(token, prefix string) (hash keyHash, ok bool) {
	if len(token) != len(prefix)+bodyLength+checksumLength || !strings.HasPrefix(token, prefix) {
		return hash, false
	}
	signed, sum := token[:len(token)-checksumLength], token[len(token)-checksumLength:]
	if subtle.ConstantTimeCompare([]byte(checksum(signed)), []byte(sum)) != 1 {
		return hash, false
	}
	return sha256.Sum256([]byte(token)), true
}

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

// randomBase62 draws n characters, each equally likely: bytes of 248 (4 * 62) and above are drawn again.
func randomBase62(random io.Reader, n int) (string, error) {
	drawn := make([]byte, 0, n)
	buffer := make([]byte, n)
	for len(drawn) < n {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return "", fmt.Errorf("tenant: no randomness: %w", err)
		}
		for _, b := range buffer {
			if b < 248 && len(drawn) < n {
				drawn = append(drawn, base62[b%62])
			}
		}
	}
	return string(drawn), nil
}

// newID makes an id such as "conn_3ZbV...", unique by its 119 random bits.
func (d *Directory) newID(prefix string) (string, error) {
	body, err := randomBase62(d.random, 20)
	return prefix + "_" + body, err
}
