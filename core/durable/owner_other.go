//go:build !unix

package durable

import "os"

// KeepOwner does nothing: files have no owner to keep here.
func KeepOwner(*os.File, string) error { return nil }
