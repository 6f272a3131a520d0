package certificate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/certificate"
	"frontdesk/core/certificate/certificatetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files are a certificate and its key in a directory.
type files struct{ certificate, key string }

func newFiles(t *testing.T, p certificatetest.Pair) files {
	t.Helper()
	dir := t.TempDir()
	f := files{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	certificatetest.Replace(t, f.certificate, p.Certificate)
	certificatetest.Replace(t, f.key, p.Key)
	return f
}

// inUse returns the certificate that a client gets.
func inUse(t *testing.T, from certificate.Source) *x509.Certificate {
	t.Helper()
	held, err := from.TLSConfig().GetCertificate(&tls.ClientHelloInfo{ServerName: "desk.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return held.Leaf
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	end := time.Now().AddDate(0, 1, 0)
	mine, other := certificatetest.New(t, end, "desk.example.com"), certificatetest.New(t, end, "desk.example.com")
	for _, c := range []struct {
		what, says string
		spoil      func(f files)
	}{
		{"no certificate", "server.tls.certificate: ", func(f files) { _ = os.Remove(f.certificate) }},
		{"no key", "server.tls.key: ", func(f files) { _ = os.Remove(f.key) }},
		{"a certificate that is none", "server.tls.certificate: ", func(f files) {
			certificatetest.Replace(t, f.certificate, []byte("none"))
		}},
		{"a key in the place of the certificate", "server.tls.certificate: ", func(f files) {
			certificatetest.Replace(t, f.certificate, mine.Key)
		}},
		{"another certificate's key", "server.tls.key: ", func(f files) {
			certificatetest.Replace(t, f.key, other.Key)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFiles(t, mine)
			c.spoil(f)
			_, err := certificate.OpenFiles(certificate.FileOptions{
				Certificate: f.certificate, Key: f.key, Log: slog.New(slog.DiscardHandler), Now: time.Now,
			})
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("got %v, want %s", err, c.says)
			}
		})
	}
}

// written is a log that one goroutine writes and another one reads.
type written struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(line)
}

// take returns what was written since the last call.
func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.lines.Reset()
	return w.lines.String()
}

// Changed files are used within two seconds. What cannot be used is told once, and changes nothing.
func TestChangedFilesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // of the bubble
		pair := func(days int) certificatetest.Pair {
			return certificatetest.New(t, now.AddDate(0, 0, days), "desk.example.com")
		}
		first, second, third, fourth, expired := pair(10), pair(20), pair(30), pair(40), pair(-1)
		f := newFiles(t, first)
		log := &written{}
		var loaded []*x509.Certificate
		source, err := certificate.OpenFiles(certificate.FileOptions{
			Certificate: f.certificate, Key: f.key, Log: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now,
			Loaded: func(leaf *x509.Certificate) { loaded = append(loaded, leaf) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); source.Run(ctx) }()
		after := func(what string, want certificatetest.Pair, says string, times int) {
			t.Helper()
			time.Sleep(5500 * time.Millisecond)
			synctest.Wait()
			if !inUse(t, source).Equal(want.Leaf) {
				t.Errorf("%s: a client gets the certificate until %s", what, inUse(t, source).NotAfter)
			}
			lines := log.take()
			if got := strings.Count(lines, says); got != times {
				t.Errorf("%s: %q is logged %d times, want %d:\n%s", what, says, got, times, lines)
			}
		}
		const again, unusable = "was read again", "stays in use"
		after("nothing changed", first, "certificate", 0)

		certificatetest.Replace(t, f.certificate, second.Certificate)
		after("half of a pair", first, unusable, 1)
		certificatetest.Replace(t, f.key, second.Key)
		after("the other half", second, again, 1)

		certificatetest.Replace(t, f.certificate, []byte("-----BEGIN CERTIFICATE-----\nbroken"))
		after("a broken file", second, unusable, 1)
		certificatetest.Replace(t, f.certificate, expired.Certificate)
		certificatetest.Replace(t, f.key, expired.Key)
		after("a pair that has expired", second, "expired at", 1)
		if err := os.Remove(f.key); err != nil {
			t.Fatal(err)
		}
		after("a file that is gone", second, unusable, 1)
		certificatetest.Replace(t, f.certificate, third.Certificate)
		certificatetest.Replace(t, f.key, third.Key)
		after("a pair", third, again, 1)

		// The files of a Kubernetes secret are symbolic links into a directory that is replaced.
		inside := newFiles(t, fourth)
		for path, target := range map[string]string{f.certificate: inside.certificate, f.key: inside.key} {
			if err := errorOf(os.Remove(path), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
		}
		after("symbolic links", fourth, again, 1)
		if len(loaded) != 4 || !loaded[3].Equal(fourth.Leaf) {
			t.Errorf("%d certificates were told", len(loaded))
		}
		end()
		<-done
	})
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestWhenACertificateIsDue(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lifetime, left time.Duration
		want           bool
	}{
		{90 * 24 * time.Hour, 20 * 24 * time.Hour, false},
		{90 * 24 * time.Hour, 13 * 24 * time.Hour, true},
		{365 * 24 * time.Hour, 15 * 24 * time.Hour, false},
		{6 * 24 * time.Hour, 2 * 24 * time.Hour, false},
		{6 * 24 * time.Hour, 28 * time.Hour, true},
		{90 * 24 * time.Hour, -time.Hour, true},
	} {
		end := now.Add(c.left)
		leaf := &x509.Certificate{NotBefore: end.Add(-c.lifetime), NotAfter: end}
		if got := certificate.IsDue(leaf, now); got != c.want {
			t.Errorf("of %s, %s are left: due %v", c.lifetime, c.left, got)
		}
	}
}

func TestRootsOfAnACMEServerThatCannotBeUsedAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	open := func() error {
		_, err := certificate.NewACME(certificate.ACMEOptions{
			Domains: []string{"desk.example.com"}, CA: path, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		return err
	}
	if err := open(); err == nil || !strings.HasPrefix(err.Error(), "server.tls.acme.ca: ") {
		t.Errorf("got %v", err)
	}
	certificatetest.Replace(t, path, []byte("none"))
	if err := open(); err == nil || !strings.HasPrefix(err.Error(), "server.tls.acme.ca: ") {
		t.Errorf("got %v", err)
	}
}

// endsAt is a log that calls end at a text.
type endsAt struct {
	text string
	end  func()
}

func (l endsAt) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(l.text)) {
		l.end()
	}
	return len(line), nil
}

// Clients of ACME have panicked at the answers of servers that others got along with (mholt/acmez#34).
func TestAPanicWhileACertificateIsObtainedIsAFailure(t *testing.T) {
	const domain = "desk.example.com"
	pair, cache := certificatetest.New(t, time.Now().AddDate(0, 3, 0), domain), t.TempDir()
	certificatetest.Replace(t, filepath.Join(cache, domain), slices.Concat(pair.Key, pair.Certificate))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	source, err := certificate.NewACME(certificate.ACMEOptions{
		Domains: []string{domain}, Cache: cache, Loaded: func(*x509.Certificate) { panic("broken") },
		Log: slog.New(slog.NewTextHandler(endsAt{"a certificate cannot be obtained", end}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	source.Run(ctx)
}
