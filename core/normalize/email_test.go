package normalize

import (
	"net/mail"
	"strings"
	"testing"
)

func TestEmailTakes(t *testing.T) {
	for rule, given := range map[string]string{
		"an ordinary address":    "pat@example.com",
		"a plus tag":             "pat+frontdesk@example.com",
		"dots":                   "pat.m.doe@mail.example.co.uk",
		"letters in either case": "Pat.Doe@Example.COM",
		"RFC 5322 3.2.3: every character of atext": "a!#$%&'*+-/=?^_`{|}~z@example.com",
		"digits":                                    "1042@example.com",
		"one letter":                                "p@x.org",
		"an apostrophe":                             "o'hara@example.com",
		"RFC 6531: letters beyond ASCII":            "zoë@example.com",
		"RFC 6531: another script":                  "用户@例え.jp",
		"RFC 5891: a domain in its own letters":     "pat@bücher.example",
		"RFC 5891: a domain as the DNS has it":      "pat@xn--bcher-kva.example",
		"a domain of digits under a name":           "pat@163.com",
		"RFC 5321 4.5.3.1.1: 64 bytes before the @": strings.Repeat("a", 64) + "@example.com",
		"RFC 1035 2.3.4: a label of 63 bytes":       "pat@" + strings.Repeat("a", 63) + ".com",
		"RFC 5321 4.5.3.1.3: 254 bytes":             "pat@" + strings.Repeat("a234567890.", 22) + "a2345.co",
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Email(given)
			if err != nil || got != given {
				t.Errorf("%q is %q, %v", given, got, err)
			}
			if parsed, err := mail.ParseAddress(given); err != nil || parsed.Address != given {
				t.Errorf("net/mail reads %v, %v", parsed, err)
			}
		})
	}
}

func TestEmailRefuses(t *testing.T) {
	const (
		example     = "must be an email address, such as pat@example.com"
		addressOnly = "must be the address alone, such as pat@example.com, without a display name or angle brackets"
		several     = "must be one address; send each in an entry of its own"
		shown       = "must not contain spaces, control characters or invisible characters"
		noDomain    = "must have an @ and a domain after it, such as pat@example.com"
		noName      = "must have a name before the @, such as pat@example.com"
		quoted      = "must not have a quoted name before the @"
		dots        = "must have no dot at the beginning or end of the part before the @, and no two in a row"
		incomplete  = "must have a complete domain name after the @, such as example.com"
		ip          = "must have a domain name after the @, not an IP address"
	)
	for rule, c := range map[string]struct{ given, says string }{
		"nothing":                              {"", example},
		"a display name":                       {"Pat Doe <pat@example.com>", addressOnly},
		"angle brackets":                       {"<pat@example.com>", addressOnly},
		"two addresses":                        {"pat@example.com,lee@example.com", several},
		"two addresses as Outlook writes them": {"pat@example.com; lee@example.com", several},
		"a URI": {"mailto:pat@example.com",
			"must be the address alone, without mailto:"},
		"a space before it":                        {" pat@example.com", shown},
		"a space within":                           {"pat doe@example.com", shown},
		"a line break, which would begin a header": {"pat@example.com\r\nBcc: lee@example.com", shown},
		"a NUL":                                {"pat\x00@example.com", shown},
		"a character that turns the direction": {"pat\u202e@example.com", shown},
		"a space of no width":                  {"pat\u200b@example.com", shown},
		"what is not UTF-8":                    {"pat\xff@example.com", "must be valid UTF-8"},
		"no @":                                 {"pat.example.com", noDomain},
		"nothing before the @":                 {"@example.com", noName},
		"nothing behind the @":                 {"pat@", incomplete},
		"two @":                                {"pat@lee@example.com", "must not contain '@' before the @"},
		"a quoted string":                      {`"pat"@example.com`, quoted},
		"a comment":                            {"pat(home)@example.com", "must not contain '(' before the @"},
		"a dot first":                          {".pat@example.com", dots},
		"a dot last":                           {"pat.@example.com", dots},
		"two dots":                             {"pat..doe@example.com", dots},
		"a backslash":                          {`pat\doe@example.com`, `must not contain '\\' before the @`},
		"a name without a dot":                 {"pat@localhost", incomplete},
		"a dot at the end":                     {"pat@example.com.", incomplete},
		"two dots in the domain":               {"pat@example..com", incomplete},
		"an underscore in the domain":          {"pat@exa_mple.com", incomplete},
		"a label that begins with a hyphen":    {"pat@-example.com", incomplete},
		"a label that is too long":             {"pat@" + strings.Repeat("a", 64) + ".com", incomplete},
		"what the DNS could not hold":          {"pat@xn--\u00fc.com", incomplete},
		"full-width letters":                   {"pat@ｅｘａｍｐｌｅ.com", incomplete},
		"another script's full stop":           {"pat@example。com", incomplete},
		"an IP address":                        {"pat@192.0.2.1", ip},
		"an address literal":                   {"pat@[192.0.2.1]", ip},
		"65 bytes before the @": {strings.Repeat("a", 65) + "@example.com",
			"must have at most 64 bytes before the @"},
		"255 bytes": {"pat@" + strings.Repeat("a234567890.", 22) + "a23456.co",
			"must be at most 254 bytes long"},
		"a great length": {strings.Repeat("a@", 1<<20), "must be at most 254 bytes long"},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Email(c.given)
			if err == nil {
				t.Fatalf("%.60q is taken", c.given)
			}
			if err.Error() != c.says || got != "" {
				t.Errorf("%.60q is %q, refused with\n%s\nwant\n%s", c.given, got, err, c.says)
			}
		})
	}
}

func TestEmailKeyComparesAddresses(t *testing.T) {
	for rule, c := range map[string]struct {
		a, b string
		same bool
	}{
		"letter case":                  {"Pat.Doe@Example.COM", "pat.doe@example.com", true},
		"letter case beyond ASCII":     {"ZOË@example.com", "zoë@example.com", true},
		"spaces around it":             {" pat@example.com", "pat@example.com", true},
		"the two forms of a domain":    {"pat@BÜCHER.example", "pat@xn--bcher-kva.example", true},
		"tags tell addresses apart":    {"pat+a@example.com", "pat@example.com", false},
		"dots tell addresses apart":    {"p.at@example.com", "pat@example.com", false},
		"what is no address is itself": {"Nobody", "nobody", true},
	} {
		if got := EmailKey(c.a) == EmailKey(c.b); got != c.same {
			t.Errorf("%s: %q and %q: %v, want %v", rule, EmailKey(c.a), EmailKey(c.b), got, c.same)
		}
	}
}
