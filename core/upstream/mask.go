package upstream

import (
	"bytes"
	"net/http"
	"strings"
)

// minMasked is the minimum length of credentials to mask in responses: shorter ones occur in texts by chance.
const minMasked = 6

// mask replaces the credentials of a request in the error response to it: some servers repeat in their errors
// what they were sent, and people read errors. Masked text keeps its length.
func mask(text []byte, secrets []string) []byte {
	for _, secret := range secrets {
		text = bytes.ReplaceAll(text, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
	}
	return text
}

// secretsOf returns what authorising added to the driver's request: the values of headers, the token after a
// scheme or prefix, and the password of Basic (RFC 7617), or the user name if that is the secret.
func secretsOf(sent, asked *http.Request) []string {
	var secrets []string
	add := func(s string) {
		if len(s) >= minMasked {
			secrets = append(secrets, s)
		}
	}
	for name, values := range sent.Header {
		if name == "User-Agent" || name == "Traceparent" || len(asked.Header.Values(name)) > 0 {
			continue
		}
		for _, value := range values {
			add(value)
			add(value[strings.LastIndexByte(value, ' ')+1:])
		}
	}
	if user, password, ok := sent.BasicAuth(); ok && len(secrets) > 0 {
		add(password)
		if len(password) < minMasked {
			add(user)
		}
	}
	return secrets
}
