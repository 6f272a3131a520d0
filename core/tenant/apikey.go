package tenant

import (
	"strings"

	"frontdesk/core/secret"
)

// What keys begin with. The rest is as that of every token of core/secret.
const (
	livePrefix  = "fd_live_"
	testPrefix  = "fd_test_"
	shownLength = len(livePrefix) + 4 // by which people recognise a key
)

// hashKey returns the hash of a well-formed key.
func hashKey(key string) (hash secret.Hash, ok bool) {
	if strings.HasPrefix(key, testPrefix) {
		return secret.HashToken(key, testPrefix)
	}
	return secret.HashToken(key, livePrefix)
}
