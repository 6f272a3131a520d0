package conformance

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
)

// AtRealServers returns how many calls at one time are made at most at a real server. A driver is tried with more at
// its fake, and here as well with FRONTDESK_AT_ONCE=16.
func AtRealServers(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("FRONTDESK_AT_ONCE"), "4"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// AtOnce runs n calls that start together, waits for all of them, and joins their errors.
func AtOnce(n int, call func(i int) error) error {
	errs := make([]error, n)
	start := make(chan struct{})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	calls.Wait()
	return errors.Join(errs...)
}
