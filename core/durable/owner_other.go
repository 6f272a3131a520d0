//go:build !unix

package durable

import "os"

// KeepOwner does nothing: files have no owner to keep here.
func KeepOwner(*os.File, string) error { return nil }

// MakeFolder makes a folder, and those above it, unless they are there.
func MakeFolder(path string) error { return os.MkdirAll(path, 0o700) }
