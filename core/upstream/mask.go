package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// minMasked is how long a credential is at least that is looked for in answers: of shorter ones, the parts of any text are equal
// by chance.
const minMasked = 6

// maskedBody is the body of an answer that refuses, with the credentials that its request carried struck out: some servers repeat
// in their errors what they were sent, and errors are read by people. What is struck out keeps its length.
type maskedBody struct {
	io.ReadCloser
	secrets []string
	read    io.Reader // what was read and masked; nil: nothing yet
	failed  error     // how reading ended
}

func (b *maskedBody) Read(p []byte) (int, error) {
	if b.read == nil {
		text, err := io.ReadAll(b.ReadCloser) // no more than the cap
		for _, secret := range b.secrets {
			text = bytes.ReplaceAll(text, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
		}
		b.read, b.failed = bytes.NewReader(text), err
	}
	n, err := b.read.Read(p)
	if err != nil && b.failed != nil {
		err = b.failed
	}
	return n, err
}

// secretsOf answers what authorising has put on a request that the driver's had not: the values of headers, the token
// behind a scheme or prefix, and the password of Basic (RFC 7617) or the user name where that is the secret.
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
