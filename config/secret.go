package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// SecretSource is the location of a secret: "env:VAR", "file:PATH", or "-" for standard input. It is never
// the secret itself.
type SecretSource string

// maxSecretBytes is the maximum length of a secret. No credential is that long.
const maxSecretBytes = 64 << 10

// Resolve returns the secret. environ holds the variables (NAME=VALUE). stdin is the input for "-", which is
// refused if stdin is nil. The error never holds the secret.
func Resolve(s SecretSource, environ []string, stdin io.Reader) (string, error) {
	return s.resolve(variables(environ), stdin)
}

func (s SecretSource) resolve(environ map[string]string, stdin io.Reader) (string, error) {
	scheme, rest, _ := strings.Cut(string(s), ":")
	switch {
	case scheme == "env" && variableName.MatchString(rest):
		value, set := environ[rest]
		if !set {
			return "", fmt.Errorf("names the variable %s, which is not set", rest)
		}
		return fitting(value, "the variable "+rest)
	case scheme == "file" && rest != "":
		file, err := os.Open(rest)
		if err != nil {
			return "", fmt.Errorf("names a file that cannot be read: %w", err)
		}
		defer file.Close()
		return readSecret(file, "the file "+rest)
	case s == "-" && stdin != nil:
		return readSecret(stdin, "standard input")
	case s == "-":
		return "", errors.New("cannot be standard input (-) here; use env:VAR or file:PATH")
	}
	// The text may be the secret itself, so the error does not repeat it.
	return "", errors.New("must say where the secret is, as env:VAR or file:PATH; do not write the secret " +
		"itself here")
}

// isReference reports whether s refers to a variable or a file, rather than being the value itself.
func (s SecretSource) isReference() bool {
	return strings.HasPrefix(string(s), "env:") || strings.HasPrefix(string(s), "file:")
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func readSecret(from io.Reader, name string) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("names %s, which cannot be read: %w", name, err)
	}
	return fitting(string(raw), name)
}

// fitting returns the secret that a text holds. What editors, shells and Kubernetes put around it is not part of it:
// one line break at the end, and a byte order mark at the beginning (RFC 3629 section 6).
func fitting(text, name string) (string, error) {
	value := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, byteOrderMark), "\n"), "\r")
	switch {
	case value == "":
		return "", fmt.Errorf("names %s, which is empty", name)
	case len(value) > maxSecretBytes:
		return "", fmt.Errorf("names %s, which holds more than %d bytes: too long for a secret", name, maxSecretBytes)
	}
	return value, nil
}

const byteOrderMark = "\ufeff"
