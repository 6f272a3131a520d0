package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"frontdesk/core/pause"
)

// lookEvery is how often the files are looked at. Notifications of the kernel are not used: they miss files on
// network file systems, and the symbolic links by which Kubernetes replaces the files of a secret.
const lookEvery = time.Second

// FileOptions says where a certificate is.
type FileOptions struct {
	Certificate string // the file of the certificate and its intermediates, in PEM
	Key         string // the file of its private key, in PEM
	Log         *slog.Logger
	Now         func() time.Time
	// Loaded is called with each certificate that is in use from then on. It may be nil.
	Loaded func(leaf *x509.Certificate)
}

// Files is a certificate from two files.
type Files struct {
	o      FileOptions
	inUse  atomic.Pointer[tls.Certificate]
	loaded state // of the pair in use
	failed state // of the last pair that could not be used
}

// state identifies the contents of both files, as far as their directory entries do.
type state struct{ certificate, key os.FileInfo }

// OpenFiles reads the files. An error begins with the key of the configuration that names the file.
func OpenFiles(o FileOptions) (*Files, error) {
	f := &Files{o: o}
	at, err := f.state()
	if err != nil {
		return nil, err
	}
	if err := f.load(at); err != nil {
		return nil, err
	}
	return f, nil
}

// TLSConfig returns a configuration that uses the pair that was read last.
func (f *Files) TLSConfig() *tls.Config {
	return config(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.inUse.Load(), nil })
}

// Run reads the files again whenever they change, until ctx ends. While the new files cannot be used, the
// former pair stays in use, and each change of the files that does not help is logged once.
func (f *Files) Run(ctx context.Context) {
	for pause.For(ctx, lookEvery) == nil {
		f.look(ctx)
	}
}

func (f *Files) look(ctx context.Context) {
	at, err := f.state()
	if err == nil && at.equal(f.loaded) {
		f.failed = state{}
		return
	}
	if err == nil {
		err = f.load(at)
	}
	switch {
	case err == nil:
		f.failed = state{}
		f.o.Log.InfoContext(ctx, "the certificate was read again", "expires", f.leaf().NotAfter)
	case f.failed.certificate == nil || !at.equal(f.failed):
		f.failed = at
		f.o.Log.ErrorContext(ctx, "the changed certificate cannot be used; the former one stays in use",
			"error", err, "expires", f.leaf().NotAfter)
	}
}

// state looks at both files. What it cannot look at is a file of its own kind, so that the error is logged once.
func (f *Files) state() (state, error) {
	certificate, err := os.Stat(f.o.Certificate)
	if err != nil {
		return state{absent{}, absent{}}, fmt.Errorf("server.tls.certificate: %w", err)
	}
	key, err := os.Stat(f.o.Key)
	if err != nil {
		return state{certificate, absent{}}, fmt.Errorf("server.tls.key: %w", err)
	}
	return state{certificate, key}, nil
}

func (s state) equal(other state) bool {
	return same(s.certificate, other.certificate) && same(s.key, other.key)
}

func same(a, b os.FileInfo) bool {
	_, noA := a.(absent)
	_, noB := b.(absent)
	if noA || noB {
		return noA && noB
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// absent stands for a file that cannot be looked at.
type absent struct{ os.FileInfo }

// load reads the pair, and uses it from now on if it is one.
func (f *Files) load(at state) error {
	certificate, err := os.ReadFile(f.o.Certificate)
	if err != nil {
		return fmt.Errorf("server.tls.certificate: %w", err)
	}
	key, err := os.ReadFile(f.o.Key)
	if err != nil {
		return fmt.Errorf("server.tls.key: %w", err)
	}
	if leafOf(certificate) == nil {
		return fmt.Errorf("server.tls.certificate: %s does not hold a certificate in PEM", f.o.Certificate)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("server.tls.key: the key in %s cannot be used with the certificate in %s: %w",
			f.o.Key, f.o.Certificate, err)
	}
	if held := f.inUse.Load(); held != nil && f.o.Now().After(pair.Leaf.NotAfter) &&
		held.Leaf.NotAfter.After(pair.Leaf.NotAfter) {
		return fmt.Errorf("server.tls.certificate: the certificate in %s expired at %s", f.o.Certificate,
			pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	f.inUse.Store(&pair)
	f.loaded = at
	if f.o.Loaded != nil {
		f.o.Loaded(pair.Leaf)
	}
	return nil
}

func (f *Files) leaf() *x509.Certificate { return f.inUse.Load().Leaf }

// Leaves returns the certificate in use.
func (f *Files) Leaves(context.Context) ([]*x509.Certificate, error) {
	return []*x509.Certificate{f.leaf()}, nil
}
