package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"frontdesk/config"
)

// written is a command in a document.
type written struct {
	file  string
	words []string
	whole bool // in a block to paste, rather than named in a sentence
}

func (w written) String() string { return "frontdesk " + strings.Join(w.words, " ") }

var (
	codeBlock  = regexp.MustCompile("(?s)\n *```[a-z]*\n(.*?)\n *```")
	inSentence = regexp.MustCompile("`frontdesk\\s+([^`]+)`")
	inBlock    = regexp.MustCompile(`(?:^|[\s(/])(?:frontdesk|go run \./cmd/frontdesk) +([a-z][^|>&#)]*)`)
)

// documented returns the commands of all documents, in order.
func documented(t *testing.T) []written {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("this is no checkout of the repository")
	}
	var all []written
	for _, file := range strings.Fields(string(out)) {
		text := read(t, filepath.Join("../..", file))
		for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				if found := inBlock.FindStringSubmatch(strings.TrimSpace(line)); found != nil &&
					!strings.HasPrefix(line, "helm ") {
					all = append(all, written{file, wordsOf(found[1]), true})
				}
			}
		}
		for _, named := range inSentence.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			command, _, _ := strings.Cut(named[1], ">")
			all = append(all, written{file, wordsOf(command), false})
		}
	}
	return all
}

// wordsOf splits a command as a shell does. The documents quote whole words only, or the value after "=".
func wordsOf(command string) []string {
	return strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(command))
}

// parserOf returns the parser of the command line, which says nothing.
func parserOf(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Name("frontdesk"), kong.Exit(func(int) {}),
		kong.Writers(io.Discard, io.Discard),
		kong.Vars{"platforms": platforms(), "agent_platforms": agentPlatforms()})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// Every command in the documents is one of this command line: its name and flags are there, and one to paste is
// complete.
func TestCommandsInDocumentsAreThere(t *testing.T) {
	t.Parallel()
	dir, checked := t.TempDir(), 0
	for _, w := range documented(t) {
		if strings.Contains(w.String(), "…") {
			continue
		}
		parser, words := parserOf(t), w.in(t, dir)
		trace, err := kong.Trace(parser, words)
		if err == nil {
			err = trace.Error
		}
		if w.whole && err == nil {
			_, err = parser.Parse(words)
		}
		if err != nil && !w.whole && strings.Contains(err.Error(), "<EOL>") {
			err = nil // "doctor --platform" names a flag, without its value
		}
		if err != nil {
			t.Errorf("%s: %s: %v", w.file, w, err)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("only %d commands were found", checked)
	}
}

// in returns the words with their files, and the unit's directory, in a directory.
func (w written) in(t *testing.T, dir string) []string {
	t.Helper()
	isFile := regexp.MustCompile(`^(file:)?[\w./-]+\.(yaml|json|jsonl|db)$`)
	var words []string
	for _, word := range w.words {
		if isFile.MatchString(word) || isFile.MatchString(word[strings.LastIndex(word, "=")+1:]) {
			at := max(strings.LastIndex(word, "="), strings.LastIndex(word, ":")) + 1
			path := filepath.Join(dir, filepath.Base(word[at:]))
			if _, err := os.Stat(path); err != nil && w.words[0] != "backup" && w.words[0] != "keyset" {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			word = word[:at] + path
		}
		words = append(words, strings.Replace(word, "/var/lib/frontdesk", dir, 1))
	}
	return words
}

// What the documents give to paste can be pasted into zsh, the shell of macOS, as well as into bash. There, as one
// types, "#" begins no comment, so that a quotation mark behind it opens a quotation, and "?" in a bare word stands for
// a file (zshoptions(1), INTERACTIVE_COMMENTS and NOMATCH).
func TestCommandsInDocumentsCanBePasted(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("this is no checkout of the repository")
	}
	block := regexp.MustCompile("(?s)\n *```([a-z]*)\n(.*?)\n *```")
	broken := regexp.MustCompile("\\S\\s+# |^\\s*#.*['\"`]|^[^'\"]*\\s[^\\s'\"]*\\?")
	for _, file := range strings.Fields(string(out)) {
		for _, found := range block.FindAllStringSubmatch(read(t, filepath.Join("../..", file)), -1) {
			for line := range strings.Lines(found[2]) {
				if (found[1] == "" || found[1] == "sh") && broken.MatchString(line) {
					t.Errorf("%s: zsh does not take this line as it is: %s", file, line)
				}
			}
		}
	}
}

// What the documents give to paste does what they say, where no provider need be there. Two walks are run whole
// elsewhere: CalDAV's README and the demo.
func TestCommandsInDocumentsWork(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"serve":                      "the demo, and every test of a process",
		"doctor":                     "its own tests; a provider's client is asked",
		"connection verify":          "each adapter's tests; the provider is asked",
		"apply -f":                   "TestApply…; the file is config/tenants.example.yaml",
		"migrate --adopt":            "TestRowsAreAdoptedOnce",
		"keyset copy --kms":          "TestTheKeySetMovesToAServiceWithoutAPause",
		"request show":               "the id is of a request",
		"--provider google --secret": "a key of a service account",
	}
	used := map[string]bool{}
	dir := t.TempDir()
	d := newDeployment(t, "", "ZAMMAD_TOKEN=secret", "TWILIO_ACCOUNT_SID=AC0123456789abcdef0123456789abcdef",
		"TWILIO_AUTH_TOKEN=secret", "TELNYX_API_KEY=secret", "RETELL_API_KEY=a-key-of-sixteen-bytes",
		"FRONTDESK_SERVER__PUBLIC_URL=https://frontdesk.example.com",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=id",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=env:ZAMMAD_TOKEN",
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_ID=id",
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_SECRET=env:ZAMMAD_TOKEN")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox", "--name",
		"front-office")
	d.must("key", "create", "--tenant", "acme", "--label", "agent")
	id := regexp.MustCompile(`key_\w+`).FindString(d.must("key", "list", "--tenant", "acme"))
	d.must("backup", filepath.Join(dir, "before.db"))
	ran := 0
	for _, w := range documented(t) {
		if !w.whole || strings.Contains(w.String(), "…") || strings.HasSuffix(w.file, "caldav/README.md") {
			continue
		}
		skipped := false
		for words := range elsewhere {
			if strings.Contains(w.String(), words) {
				skipped, used[words] = true, true
			}
		}
		if skipped {
			continue
		}
		words := w.in(t, dir)
		for i := range words {
			if words[i] == "ID" {
				words[i] = id
			}
		}
		if out, errs, code := d.do("", words...); code != exitOK {
			t.Errorf("%s: %s: exit %d\n%s%s", w.file, w, code, out, errs)
		}
		ran++
	}
	if ran < 20 {
		t.Errorf("only %d commands were run", ran)
	}
	for words := range elsewhere {
		if !used[words] {
			t.Errorf("no document has %q", words)
		}
	}

	// The sample of the audit has the columns that there are.
	sample := regexp.MustCompile(`(?m)^ID  AT .*$`).FindString(read(t, "../../deploy/README.md"))
	header, _, _ := strings.Cut(d.must("audit", "list"), "\n")
	if got, want := strings.Fields(sample), strings.Fields(header); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the sample of the audit has the columns %q, want %q", got, want)
	}
}

// The doctor's finding in troubleshoot.md is one that the doctor made.
func TestTheSampleOfTheDoctorIsReal(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d := newDeployment(t, "", "FRONTDESK_SERVER__PUBLIC_URL="+other.URL,
		"FRONTDESK_SERVER__LISTEN="+strings.TrimPrefix(other.URL, "http://"))
	out, _, code := d.do("", "doctor", "--json")
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	found := regexp.MustCompile(`(?s)  \{\n    "check": "public-url".*?\n  \}`).FindString(out)
	want := strings.ReplaceAll(found, other.URL, "https://front.example.com")
	if found == "" || !strings.Contains(read(t, "../../deploy/troubleshoot.md"), want) {
		t.Errorf("troubleshoot.md lacks this:\n%s", want)
	}
}

// What operators copy into their configuration can be used.
func TestSettingsInDocumentsCanBeUsed(t *testing.T) {
	t.Parallel()
	block, loaded := regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```"), 0
	for _, found := range block.FindAllStringSubmatch(read(t, "../../deploy/README.md"), -1) {
		path := filepath.Join(t.TempDir(), "frontdesk.yaml")
		if err := os.WriteFile(path, []byte(found[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		var environ []string
		for _, secret := range regexp.MustCompile(`env:(\w+)`).FindAllStringSubmatch(found[1], -1) {
			environ = append(environ, secret[1]+"=secret")
		}
		if _, err := config.Load(path, environ, declared(t)); err != nil {
			t.Errorf("%s\n%v", found[1], err)
		}
		loaded++
	}
	if loaded < 3 {
		t.Errorf("only %d blocks were found", loaded)
	}
}
