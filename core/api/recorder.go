package api

import (
	"bytes"
	"cmp"
	"net/http"
)

// Recorder keeps the response to a request that this process makes of the handler of [New]. Create it with
// [NewRecorder].
type Recorder struct {
	Status int // 0: nothing was written
	Body   bytes.Buffer
	header http.Header
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder { return &Recorder{header: http.Header{}} }

// Header, WriteHeader and Write implement http.ResponseWriter.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *Recorder) WriteHeader(status int) { r.Status = cmp.Or(r.Status, status) }

// Write keeps the bytes.
func (r *Recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(p)
}
