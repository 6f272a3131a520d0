//go:build !linux

package gateway

import "errors"

// volumeOf is not known on this system, and the doctor leaves out what it needs it for.
func volumeOf(string) (volume, error) { return volume{}, errors.ErrUnsupported }
