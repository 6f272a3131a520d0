package telemetry

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// CallLabels identifies the driver call that is measured.
type CallLabels struct{ Kind, Provider, Operation string }

// Bulkhead takes what a bulkhead tells of itself.
type Bulkhead interface {
	InUse(by int)   // adds to the number of places taken
	Waiting(by int) // adds to the number of calls that wait
	Refused()       // counts a call that was refused because too many were waiting
}

// Watched holds functions that are called whenever metrics are read; nil: not watched.
type Watched struct {
	Gate     func() (inside, limit int)                   // requests in the gate of the API
	Queues   map[string]func() int                        // requests that wait, by for what
	Store    func() (calls int64, together time.Duration) // waits for the store, since it was opened
	Writable func() bool                                  // whether the store takes writes
	Openable func() bool                                  // whether the key set opens what is stored
	Disk     func() (free, size float64)                  // bytes of the file system of the data directory
}

// StatusClass returns a status's class, such as "4xx". It keeps 429 separate, since an operator acts on it.
func StatusClass(status int) string {
	if status == http.StatusTooManyRequests {
		return strconv.Itoa(status)
	}
	if status < 100 || status > 599 {
		return "other"
	}
	return fmt.Sprintf("%dxx", status/100)
}
