package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"frontdesk/core/fault"
)

// WantFault returns nil when err is a fault of that code and, unless it is "", that reason.
func WantFault(what string, err error, code fault.Code, reason string) error {
	var f *fault.Error
	switch {
	case err == nil:
		return fmt.Errorf("%s succeeded, want %s %s", what, string(code), reason)
	case !errors.As(err, &f):
		return fmt.Errorf("%s failed with %w, which is no fault; want %s %s", what, err, string(code), reason)
	case f.Code != code || reason != "" && f.Reason != reason:
		return fmt.Errorf("%s failed with %w, want %s %s", what, err, string(code), reason)
	}
	return nil
}

// WantInvalid returns nil when err is an input fault that names the field.
func WantInvalid(what string, err error, path string) error {
	if err := WantFault(what, err, fault.Invalid, ""); err != nil {
		return err
	}
	named := slices.ContainsFunc(fault.From(err).Fields,
		func(f fault.Field) bool { return f.Path == path && f.Message != "" })
	if !named {
		return fmt.Errorf("%s failed with %w, which does not name %s", what, err, path)
	}
	return nil
}

// WantEnded returns nil when err says that the context was cancelled: as the context's own error or as a
// fault.
func WantEnded(what string, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s succeeded on a cancelled context", what)
	case errors.Is(err, context.Canceled), errors.Is(err, fault.Canceled):
		return nil
	}
	return fmt.Errorf("%s failed on a cancelled context with %w, want the context's error", what, err)
}
