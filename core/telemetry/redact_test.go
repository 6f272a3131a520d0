package telemetry

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const canary = "c4n4ryS3cret0123456789"

func TestRedactTakesSecretsOut(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"own live key": {"key fd_live_" + canary + " is revoked",
			"key fd_live_REDACTED is revoked"},
		"own link":     {"/connect/fdc_" + canary + "/x", "/connect/fdc_REDACTED/x"},
		"own test key": {"fd_test_" + canary, "fd_test_REDACTED"},
		"own admin key in a path": {"/alpha/admin/keys/fd_admin_" + canary + "/x",
			"/alpha/admin/keys/fd_admin_REDACTED/x"},
		"own sign-in link": {"/frontdesk/settings/sign-in/fds_" + canary, "/frontdesk/settings/sign-in/fds_REDACTED"},
		"own signing secret": {"whsec_a+b/" + canary + "== is shown once",
			"whsec_REDACTED is shown once"},
		"own signing secret in a path": {"/x/whsec_a%2Bb%2F" + canary + "%3D", "/x/whsec_REDACTED"},
		"header line": {"Authorization: Bearer " + canary + "\r\nAccept: */*",
			"Authorization: REDACTED\r\nAccept: */*"},
		"header in Go's map form": {"map[Authorization:[Bearer " + canary + "] Accept:[*/*]]",
			"map[Authorization:REDACTED Accept:[*/*]]"},
		"cookie line":     {"Cookie: a=" + canary + "; b=2\nx", "Cookie: REDACTED\nx"},
		"set-cookie line": {"Set-Cookie: sid=" + canary + "; Path=/", "Set-Cookie: REDACTED"},
		"proxy authorization": {"proxy-authorization: Basic " + canary,
			"proxy-authorization: REDACTED"},
		"custom key header": {"X-Api-Key: " + canary, "X-Api-Key: REDACTED"},
		"bearer in prose":   {"sent Bearer " + canary + " to it", "sent Bearer REDACTED to it"},
		"basic in prose":    {"sent basic dXNlcjpwYXNz0w== to it", "sent basic REDACTED to it"},
		"basic as words":    {"basic authentication failed", "basic authentication failed"},
		"bearer as words":   {"the bearer scheme is missing", "the bearer scheme is missing"},
		"userinfo with password": {"https://user:" + canary + "@dav.example.com/x",
			"https://REDACTED@dav.example.com/x"},
		"userinfo without password": {"https://" + canary + "@dav.example.com/x",
			"https://REDACTED@dav.example.com/x"},
		"password with at sign": {"postgres://u:p@" + canary + "@db/x", "postgres://REDACTED@db/x"},
		"an at sign in the path stays": {"https://example.com/u/ann@example.com",
			"https://example.com/u/ann@example.com"},
		"query token": {"GET /x?access_token=" + canary + "&page=2",
			"GET /x?access_token=REDACTED&page=2"},
		"query key": {"https://h/x?key=" + canary + "&q=1", "https://h/x?key=REDACTED&q=1"},
		"authorization code": {"https://h/cb?code=" + canary + "&state=" + canary,
			"https://h/cb?code=REDACTED&state=REDACTED"},
		"a code that is no parameter": {"code=404 message", "code=404 message"},
		"form body": {"grant_type=refresh_token&refresh_token=" + canary + "&client_secret=" +
			canary, "grant_type=refresh_token&refresh_token=REDACTED&client_secret=REDACTED"},
		"json field": {`{"refresh_token":"` + canary + `","expires_in":3600}`,
			`{"refresh_token":REDACTED,"expires_in":3600}`},
		"json with spaces":      {`{"password" : "` + canary + `" }`, `{"password" : REDACTED }`},
		"json that was cut off": {`{"a":1,"refresh_token":"` + canary, `{"a":1,"refresh_token":REDACTED`},
		"json in a string": {`{\"api_key\":\"` + canary + `\",\"a\":1}`,
			`{\"api_key\":REDACTED,\"a\":1}`},
		"json value with escaped quote": {`{"secret":"a\"` + canary + `","a":1}`, `{"secret":REDACTED,"a":1}`},
		"web token alone": {"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + canary + " back",
			"got REDACTED back"},
		"signed address": {"https://s3/x?X-Amz-Signature=" + canary + "&X-Amz-Date=1",
			"https://s3/x?X-Amz-Signature=REDACTED&X-Amz-Date=REDACTED"},
		"a plain sentence": {"The event does not exist.", "The event does not exist."},
		"a plain address": {"https://dav.example.com:8443/cal/ann/?expand=1",
			"https://dav.example.com:8443/cal/ann/?expand=1"},
		"the word token with an error":    {`{"error":"invalid_token"}`, `{"error":"invalid_token"}`},
		"an error that names the request": {`{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			got := Redact(c.in)
			if got != c.want {
				t.Errorf("Redact(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			if again := Redact(got); again != got {
				t.Errorf("redacting twice changes it: %q", again)
			}
		})
	}
}

// TestEveryPrefixOfOurSecretsIsRedacted looks for the prefixes in the source: a kind of secret that is added there
// is redacted wherever it stands, also in a path that leads nowhere.
func TestEveryPrefixOfOurSecretsIsRedacted(t *testing.T) {
	declared := regexp.MustCompile(`(?i)\b\w*prefix\s*=\s*"([a-z]+(?:_[a-z]+)*_)"|NewToken\("([a-z_]+)"\)`)
	noSecrets := []string{"st_", "hd_", "mt_", "was_"} // references, and names of fields of a form
	paths, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			if !strings.Contains(line, "refix") && !strings.Contains(line, "NewToken") {
				continue // the pattern would take long for all lines
			}
			match := declared.FindStringSubmatch(line)
			if match == nil || slices.Contains(noSecrets, match[1]+match[2]) {
				continue
			}
			prefix := match[1] + match[2]
			found++
			if got := Redact("GET /nowhere/" + prefix + canary); got != "GET /nowhere/"+prefix+redacted {
				t.Errorf("%s: a secret with the prefix %s is redacted as %q", path, prefix, got)
			}
		}
	}
	if found < 7 {
		t.Errorf("%d prefixes were found in the source", found)
	}
}

// FuzzRedact puts a secret into each of the places where Redact finds it, with any text around it.
func FuzzRedact(f *testing.F) {
	f.Add("", "")
	f.Add("HTTP 400 {", "}")
	f.Add(`"`, `"`)
	f.Add("x=y&", "&a=b")
	f.Add("[", "]")
	places := []string{
		"fd_live_%", "fdc_%", "fds_%", "whsec_%", "Authorization: Bearer %", "Cookie: session=%", `{"access_token":"%"}`,
		"?access_token=%", "&client_secret=%",
		"https://user:%@example.com/", " Bearer %", "X-Api-Key: %", "password=%",
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, position := range places {
			in := before + "\n" + strings.ReplaceAll(position, "%", canary) + "\n" + after
			if out := Redact(in); strings.Contains(out, canary) {
				t.Errorf("the secret of %q is still in %q", in, out)
			}
		}
	})
}

func TestRedactURLKeepsOnlyWhatLocates(t *testing.T) {
	u, err := url.Parse("https://ann:pw@dav.example.com:8443/cal/a b?token=1#x")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := RedactURL(u), "https://dav.example.com:8443/cal/a%20b"; got != want {
		t.Errorf("RedactURL = %q, want %q", got, want)
	}
	if got := RedactURL(nil); got != "" {
		t.Errorf("RedactURL(nil) = %q", got)
	}
}

type loud struct{ text string }

func (l loud) String() string { return l.text }

func TestEveryKindOfAttributeIsRedacted(t *testing.T) {
	u := &url.URL{
		Scheme: "https", Host: "h", Path: "/p", RawQuery: "token=" + canary, User: url.UserPassword("u", canary),
	}
	var out strings.Builder
	log, err := NewLogger(&out, LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log.With("authorization", canary).WithGroup("g").Info("Bearer "+canary,
		"text", "token="+canary,
		"error", errors.New("password="+canary),
		"stringer", loud{"api_key=" + canary},
		"url", u,
		"map", map[string]string{"access_token": canary},
		"struct", struct{ ClientSecret string }{canary},
		"client_secret", []byte(canary),
		"unmarshallable", struct {
			Token string
			F     func()
		}{Token: canary},
		"took", time.Second, "count", 3, "fine", []string{"a", "b"})
	line := out.String()
	if strings.Contains(line, canary) {
		t.Errorf("the secret is in the log: %s", line)
	}
	for _, kept := range []string{`"count":3`, `"took":1000000000`, `"fine":["a","b"]`, `"url":"https://h/p"`} {
		if !strings.Contains(line, kept) {
			t.Errorf("%s is missing in %s", kept, line)
		}
	}
}

func BenchmarkRedactPlain(b *testing.B) {
	for b.Loop() {
		Redact("The provider caldav could not be reached at dav.example.com.")
	}
}

func BenchmarkRedactAnswer(b *testing.B) {
	body := strings.Repeat(`{"error":"invalid_grant","refresh_token":"`+canary+`"}`, 10)
	for b.Loop() {
		Redact(body)
	}
}

// FuzzClues compares look with the patterns: a text that look lets pass has nothing to redact.
func FuzzClues(f *testing.F) {
	for _, seed := range []string{
		"PassPhrase: x1", "X-My-Key:1", "session_id=4", "https://a@b/", "?code=1", "eyJhbGciOi.x", "fd_test_9",
		"Negotiate 1234567", "\u017fecret=1", "to\u212aen=1", "api key\t: 1", `{\"client-assertion\": \"1`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) { checkClues(t, s) })
}

// TestCluesAreNoFewerThanTheMatches is FuzzClues for texts that are made of the patterns' own parts.
func TestCluesAreNoFewerThanTheMatches(t *testing.T) {
	parts := slices.Concat(strings.Split(strings.NewReplacer("(?:or)?", "o", "[-_ ]?", "-", "[-_]?", "_").
		Replace(secretNames), "|"), []string{
		"Bearer", "basic", "DIGEST", "negotiate", "apikey", "Token", "proxy-", "set-", "x-", "X-a-", "key", "Key",
		"\u017f", "\u212a", "api key", "passwd", "://", "@", "fd_live_", "fd_admin_", "fdc_", "fds_", "whsec_", "eyJhbGciOi.",
		"code", "state", " ", "  ", "\t", "\n", "\f", "\r", "\v", "%20", "+", ":", "=", "?", "&", "#", `"`, "'", `\`, `\"`, "[", "]",
		"a", "Z", "0", "-", "_", ".", "/", "é", "abcdef12", canary,
	})
	rapid.Check(t, func(r *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)) // far faster than draws
		for range 60 {
			var text strings.Builder
			for range 1 + random.IntN(7) {
				text.WriteString(parts[random.IntN(len(parts))])
			}
			checkClues(r, text.String())
		}
	})
}

func checkClues(t rapid.TB, s string) {
	t.Helper()
	c := look(s)
	for name, check := range map[string]struct {
		pattern *regexp.Regexp
		clue    bool
	}{
		"userinfo": {userinfo, c.address}, "secretHeader": {secretHeader, c.pair}, "ownKey": {ownKey, c.ownKey},
		"webToken": {webToken, c.webToken}, "authScheme": {authScheme, c.scheme},
		"secretPair": {secretPair, c.pair}, "secretParameter": {secretParameter, c.parameter},
	} {
		if !check.clue && check.pattern.MatchString(s) {
			t.Errorf("%s matches %q, but no clue says so", name, s)
		}
	}
	if secretKey.MatchString(s) && !isSecret(s) {
		t.Errorf("%q is the name of a secret, but not taken for one", s)
	}
}

// TestRefusalsAreLoggedWithoutAPattern holds the cost of a refusal: no pattern runs over its error's text.
func TestRefusalsAreLoggedWithoutAPattern(t *testing.T) {
	for _, text := range []string{
		"unauthenticated (INVALID_API_KEY): The API key is not valid: it is mistyped, unknown or revoked.",
		"rate_limited (RATE_LIMITED): The API key made more than 60 requests within a minute.",
		"unavailable (BREAKER_OPEN): The provider google has been failing, so it is not called for a moment. " +
			"Try again shortly.",
	} {
		if c := look(text); c != (clues{}) {
			t.Errorf("%q has clues: %+v", text, c)
		}
	}
}
