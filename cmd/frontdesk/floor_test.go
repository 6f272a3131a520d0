package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
)

const (
	// With this variable set to the address of a provider's answer, the test binary is the floor of a read.
	asFloor = "FRONTDESK_TEST_RUN_FLOOR"

	// With this variable set to a folder, a process that the tests start writes its processor profile there.
	profiled = "FRONTDESK_TEST_PROFILE"
)

// profile writes a processor profile of this process until the returned function is called.
func profile(folder string) (stop func()) {
	if folder == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(folder, fmt.Sprintf("cpu-%d.pprof", os.Getpid())))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}
}

// floorEvent is what a list-events needs of an event of Google's, and no more.
type floorEvent struct {
	ID        string `json:"id"`
	Summary   string `json:"summary"`
	Status    string `json:"status"`
	HTMLLink  string `json:"htmlLink"`
	Start     struct{ DateTime, TimeZone string }
	End       struct{ DateTime, TimeZone string }
	Organizer struct{ Email string }
	Attendees []struct{ Email, DisplayName, ResponseStatus string }
}

// runFloor serves the least that a read can be: net/http, one call of the provider, and encoding/json. It
// prints its address.
func runFloor(provider string) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Start string `json:"start_time"`
			End   string `json:"end_time"`
			Zone  string `json:"timezone"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, provider, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		var list struct {
			Items []floorEvent `json:"items"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"events": list.Items})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	_ = http.Serve(listener, http.HandlerFunc(handler))
}
