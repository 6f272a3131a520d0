package secret

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTokensAreWrittenOneWay(t *testing.T) {
	zeros := bytes.NewReader(make([]byte, 64))
	body, err := draw(zeros, bodyLength)
	if err != nil {
		t.Fatal(err)
	}
	// The CRC-32 of what precedes them is 0x2817e78b.
	want := "fd_live_000000000000000000000000000000000jWOM7"
	if got := withChecksum("fd_live_" + body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	shape := regexp.MustCompile(`^fd_(live|test)_[0-9A-Za-z]{38}$`)
	for range 100 {
		for _, prefix := range []string{"fd_live_", "fd_test_"} {
			token := NewToken(prefix)
			if !shape.MatchString(token) || !strings.HasPrefix(token, prefix) {
				t.Fatal(token)
			}
			if _, ok := HashToken(token, prefix); !ok {
				t.Errorf("%s is refused", token)
			}
			if _, ok := HashToken(token, "fd_else_"); ok {
				t.Errorf("%s passes with another prefix", token)
			}
		}
	}
}

func TestChecksumIsCRC32InBase62(t *testing.T) {
	for _, rule := range []struct{ text, want string }{
		{"", "000000"},
		{"123456789", "3jZRME"}, // 0xCBF43926, the check value of CRC-32/ISO-HDLC
	} {
		if got := checksum(rule.text); got != rule.want {
			t.Errorf("%q: got %s, want %s", rule.text, got, rule.want)
		}
	}
}

func TestEveryMistypedCharacterIsNoticed(t *testing.T) {
	key := NewToken("fd_live_")
	for i := range key {
		for _, c := range []byte(base62 + "_- ") {
			if c == key[i] {
				continue
			}
			wrong := key[:i] + string(c) + key[i+1:]
			if _, ok := HashToken(wrong, "fd_live_"); ok {
				t.Errorf("%s passes for %s", wrong, key)
			}
		}
	}
	for i := range len(key) - 1 {
		if key[i] == key[i+1] {
			continue
		}
		if _, ok := HashToken(key[:i]+key[i+1:i+2]+key[i:i+1]+key[i+2:], "fd_live_"); ok {
			t.Errorf("swapping the characters at %d goes unnoticed", i)
		}
	}
	for _, wrong := range []string{
		"", key[1:], key[:len(key)-1], key + "0", " " + key, "fd_live_", strings.ToUpper(key),
	} {
		if _, ok := HashToken(wrong, "fd_live_"); ok {
			t.Errorf("%q passes", wrong)
		}
	}
}

func TestEveryCharacterIsEquallyLikely(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	drawn, err := draw(bytes.NewReader(append(all, all...)), 248)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range base62 {
		if n := strings.Count(drawn, string(c)); n != 4 {
			t.Errorf("of all bytes, %d give %c, want 4", n, c)
		}
	}
	broken := errors.New("broken")
	if _, err := draw(iotest.ErrReader(broken), 1); !errors.Is(err, broken) {
		t.Errorf("without randomness: %v", err)
	}
}

// FuzzHashToken checks that every accepted text has the form of a token.
func FuzzHashToken(f *testing.F) {
	const prefix = "fd_live_"
	f.Add(NewToken(prefix))
	f.Add(prefix + strings.Repeat("\xff", 38))
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := HashToken(text, prefix); ok &&
			(len(text) != len(prefix)+bodyLength+checksumLength || !strings.HasPrefix(text, prefix)) {
			t.Errorf("%q passes", text)
		}
	})
}
