package upstream

import (
	"bytes"
	"net/http"
	"strings"
)

// minMasked is how long a credential is at least that is looked for in answers: of shorter ones, the parts of
// any text are equal by chance.
const minMasked = 6

// mask strikes out of an answer that refuses the credentials that its request carried: some servers repeat
// in their errors what they were sent, and errors are read by people. What is struck out keeps its length.
func mask(text []byte, secrets []string) []byte {
	for _, secret := range secrets {
		text = bytes.ReplaceAll(text, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
	}
	return text
}

// secretsOf returns what authorising put on a request that the driver's had not: the values of headers,
// the token behind a scheme or prefix, and the password of Basic (RFC 7617) or the user name where that is
// the secret.
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
