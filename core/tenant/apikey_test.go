package tenant

import (
	"bytes"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeysAreWrittenOneWay(t *testing.T) {
	zeros := bytes.NewReader(make([]byte, 64))
	live, err := makeKey(zeros, false)
	if err != nil {
		t.Fatal(err)
	}
	// The CRC-32 of what precedes them is 0x2817e78b.
	if want := "fd_live_000000000000000000000000000000000jWOM7"; live != want {
		t.Errorf("got %s, want %s", live, want)
	}
	shape := regexp.MustCompile(`^fd_(live|test)_[0-9A-Za-z]{38}$`)
	for range 100 {
		for _, test := range []bool{false, true} {
			key, err := makeKey(rand.Reader, test)
			if err != nil || !shape.MatchString(key) || strings.HasPrefix(key, "fd_test_") != test {
				t.Fatalf("%s, %v", key, err)
			}
			if _, ok := readKey(key); !ok {
				t.Errorf("%s is refused", key)
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
	key, err := makeKey(rand.Reader, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range key {
		for _, c := range []byte(base62 + "_- ") {
			if c == key[i] {
				continue
			}
			wrong := key[:i] + string(c) + key[i+1:]
			if _, ok := readKey(wrong); ok {
				t.Errorf("%s passes for %s", wrong, key)
			}
		}
	}
	for i := range len(key) - 1 {
		if key[i] == key[i+1] {
			continue
		}
		if _, ok := readKey(key[:i] + key[i+1:i+2] + key[i:i+1] + key[i+2:]); ok {
			t.Errorf("swapping the characters at %d goes unnoticed", i)
		}
	}
	for _, wrong := range []string{"", key[1:], key[:len(key)-1], key + "0", " " + key, "fd_live_", strings.ToUpper(key)} {
		if _, ok := readKey(wrong); ok {
			t.Errorf("%q passes", wrong)
		}
	}
}

func TestEveryCharacterIsEquallyLikely(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	drawn, err := randomBase62(bytes.NewReader(append(all, all...)), 248)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range base62 {
		if n := strings.Count(drawn, string(c)); n != 4 {
			t.Errorf("of all bytes, %d give %c, want 4", n, c)
		}
	}
	broken := errors.New("broken")
	if _, err := randomBase62(iotest.ErrReader(broken), 1); !errors.Is(err, broken) {
		t.Errorf("without randomness: %v", err)
	}
}

// FuzzReadKey: what passes for a key has the form of one.
func FuzzReadKey(f *testing.F) {
	key, err := makeKey(rand.Reader, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key)
	f.Add("fd_live_" + strings.Repeat("\xff", 38))
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := readKey(text); ok && (len(text) != len(livePrefix)+bodyLength+checksumLength || !strings.HasPrefix(text, "fd_")) {
			t.Errorf("%q passes", text)
		}
	})
}
