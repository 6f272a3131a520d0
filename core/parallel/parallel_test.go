package parallel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"frontdesk/core/parallel"
	"frontdesk/core/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPanicIsPassedOnToWhoWaits(t *testing.T) {
	group, ctx := parallel.WithContext(t.Context())
	group.Go(func() error { return panics(nil) })
	group.Go(func() error { // ends with the other
		<-ctx.Done()
		return context.Cause(ctx)
	})
	defer func() {
		told := telemetry.Panic(recover())
		for _, want := range []string{"index out of range", "parallel_test.panics"} {
			if !strings.Contains(told, want) {
				t.Errorf("%q is not in what is logged: %s", want, told)
			}
		}
	}()
	t.Errorf("whoever waits goes on, with the error %v", group.Wait())
}

func TestBackgroundWorkThatPanicsBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var logged bytes.Buffer
		begun := 0
		parallel.Lasting(ctx, slog.New(slog.NewTextHandler(&logged, nil)), func(ctx context.Context) {
			switch begun++; begun {
			case 1:
				_ = panics(nil)
			case 2:
				end()
				<-ctx.Done()
			}
		})
		if text := logged.String(); begun != 2 || strings.Count(text, "index out of range") != 1 ||
			!strings.Contains(text, "parallel_test.panics") {
			t.Errorf("begun %d times, and logged: %s", begun, text)
		}
	})
}

func panics(none []int) error {
	_ = none[len(none)]
	return nil
}

func TestTheFirstErrorIsReturned(t *testing.T) {
	group := parallel.New()
	group.SetLimit(1)
	failed := errors.New("failed")
	for _, err := range []error{nil, failed, errors.New("another")} {
		group.Go(func() error { return err })
	}
	if err := group.Wait(); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
