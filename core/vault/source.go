package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"frontdesk/core/durable"
)

// source is the place of a key set: a file or an environment variable.
type source struct {
	env    string      // the variable's name, or ""
	path   string      // the path of the file, when env is ""
	ours   bool        // the gateway creates the file on first use
	former string      // with ours, the path of a key set in the other form
	denied fs.FileMode // permissions the file must not grant
}

// The generated key set's names in the data directory.
const (
	fileName      = "keyset.json"
	encryptedName = "keyset.encrypted.json"
)

// The permissions that a key set's file must not grant. A file that the gateway created is for its owner
// only. A file given by the operator may be readable by its group, since mounted secrets are (Kubernetes with
// fsGroup, systemd's LoadCredential).
const (
	ownerOnly  fs.FileMode = 0o077
	groupReads fs.FileMode = 0o027
)

func parseSource(text, dataDir string, encrypted bool) (source, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		path, former := filepath.Join(dataDir, fileName), filepath.Join(dataDir, encryptedName)
		if encrypted {
			path, former = former, path
		}
		return source{path: path, ours: true, denied: ownerOnly, former: former}, nil
	case scheme == "file" && rest != "":
		return source{path: rest, denied: groupReads}, nil
	case scheme == "env" && rest != "":
		return source{env: rest}, nil
	}
	return source{}, errors.New("a key set must be file:PATH or env:VAR; without either, it is a file in " +
		"the data directory")
}

// Missing returns the path at which Open would create a key set because none exists, or "" if Open would not
// create one.
func Missing(text, dataDir string, encrypted bool) string {
	from, err := parseSource(text, dataDir, encrypted)
	if err != nil || !from.ours {
		return ""
	}
	for _, path := range []string{from.path, from.former} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
	}
	return from.path
}

// String returns the name of the source for messages.
func (s source) String() string {
	if s.env != "" {
		return "the variable " + s.env
	}
	return s.path
}

// create creates the generated key set if there is none. If two processes start at once, the first key set
// stays.
func (s source) create(fresh func() ([]byte, error)) error {
	if !s.ours {
		return nil
	}
	if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return nil // it exists, or load reports why it cannot be read
	}
	if _, err := os.Stat(s.former); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is %s, and no %s: whether the key set is encrypted has changed. With the former "+
			"configuration, write it as it should be by frontdesk keyset copy", s.former, s.path)
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data directory cannot be created: %w", err)
	}
	raw, err := fresh()
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(dir, filepath.Base(s.path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("the key set cannot be written: %w", err)
	}
	defer os.Remove(made.Name())
	if err := writeDurably(made, s.path, raw); err != nil {
		return err
	}
	if err := os.Link(made.Name(), s.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the key set cannot be put in place: %w", err)
	}
	return syncFolder(dir)
}

// load reads the key set's text.
func (s source) load() ([]byte, error) {
	if s.env != "" {
		text := os.Getenv(s.env)
		if text == "" {
			return nil, fmt.Errorf("the variable %s, which should hold the key set, is not set", s.env)
		}
		return []byte(text), nil
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, fmt.Errorf("the key set cannot be read: %w", err)
	}
	if granted := info.Mode().Perm() & s.denied; granted != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("other users can read or change the key set %s (mode %04o); run: chmod 600 %s",
			s.path, info.Mode().Perm(), s.path)
	}
	raw, err := os.ReadFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("the key set cannot be read: %w", err)
	}
	return raw, nil
}

// version returns a text that changes with the source's content.
func (s source) version() (string, error) {
	if s.env != "" {
		return "", nil // a process's environment does not change
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return "", fmt.Errorf("the key set cannot be read: %w", err)
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size()), nil
}

const nextSuffix = ".next"

// next returns the path of the file that a rotation writes, or "" if the key set cannot be rotated here.
func (s source) next() string {
	if s.env != "" {
		return ""
	}
	path := s.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // replace the file, not the link to it
	}
	return path + nextSuffix
}

// replace rewrites the file as a whole. The new file has a fixed name, which is the lock against a second
// rotation: one that read the old keys would lose the new ones.
func (s source) replace(change func(raw []byte) ([]byte, error)) error {
	if s.env != "" {
		return fmt.Errorf("the key set is in the variable %s, which the gateway cannot change; keep it in a "+
			"file (file:PATH) to rotate it here, or rotate it where the variable is set", s.env)
	}
	next := s.next()
	path := strings.TrimSuffix(next, nextSuffix)
	file, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another rotation is running, or one was interrupted; if none is running, remove "+
			"%s and try again", next)
	}
	if err != nil {
		return fmt.Errorf("the key set cannot be written: %w", err)
	}
	if err := s.fill(file, path, change); err != nil {
		file.Close()
		os.Remove(next)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// fill writes the changed key set into next and renames next to path, with path's owner and mode.
func (s source) fill(next *os.File, path string, change func(raw []byte) ([]byte, error)) error {
	raw, err := s.load()
	if err != nil {
		return err
	}
	changed, err := change(raw)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the key set cannot be read: %w", err)
	}
	if err := next.Chmod(info.Mode().Perm()); err != nil {
		return fmt.Errorf("the key set cannot be written: %w", err)
	}
	if err := writeDurably(next, path, changed); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return fmt.Errorf("the key set cannot be put in place: %w", err)
	}
	return nil
}

// writeDurably writes and closes the file, and gives it the owner of the file at like. Once it returns nil, the
// content survives a power loss.
func writeDurably(file *os.File, like string, raw []byte) error {
	_, err := file.Write(raw)
	if err == nil {
		err = durable.KeepOwner(file, like)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("the key set cannot be written: %w", err)
	}
	return nil
}

// syncFolder syncs a folder in which a key set has got its name.
func syncFolder(path string) error {
	if err := durable.SyncFolder(path); err != nil {
		return fmt.Errorf("the key set cannot be put in place: %w", err)
	}
	return nil
}
