package conformance

import (
	"errors"
	"sync"
)

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
