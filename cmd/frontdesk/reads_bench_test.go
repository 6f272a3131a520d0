//go:build attack

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/connection"
	"frontdesk/core/tenant"
)

// serveFloor starts the floor in a process of its own.
func serveFloor(b *testing.B, provider string) (base string, pid int) {
	b.Helper()
	binary, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(binary)
	c.Env = []string{asFloor + "=" + provider}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n])), c.Process.Pid
}

// usedBy returns what a process has used of the processors, from all its threads (proc_pid_stat(5): in
// ticks of 10 ms).
func usedBy(b *testing.B, pid int) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("the processor time of a process is read from /proc: ", err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	total := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		total += n
	}
	return time.Duration(total) * 10 * time.Millisecond
}

// googleAnswers returns an answer of Google's fake with that many events, as the driver asks for them.
func googleAnswer(events int) []byte {
	items := make([]map[string]any, events)
	begin := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range items {
		at := begin.Add(time.Duration(i) * 3 * time.Minute)
		when := func(t time.Time) map[string]any {
			return map[string]any{"dateTime": t.Format(time.RFC3339), "timeZone": "America/New_York"}
		}
		items[i] = map[string]any{
			"id": fmt.Sprintf("fd%040d", i), "etag": fmt.Sprintf("%q", fmt.Sprintf("%d", 3181161784712000+i)),
			"status": "confirmed", "summary": fmt.Sprintf("Consultation with Pat Doe %d", i),
			"description": "First visit.\nBring the insurance card, \"please\".",
			"start":       when(at), "end": when(at.Add(30 * time.Minute)),
			"organizer": map[string]any{"email": customer, "self": true},
			"attendees": []map[string]any{
				{"email": "sam@example.com", "displayName": "Sam", "responseStatus": "needsAction"},
				{"email": customer, "responseStatus": "accepted"},
			},
			"hangoutLink":        "https://meet.example.com/abc-defg-hij",
			"htmlLink":           fmt.Sprintf("https://www.google.com/calendar/event?eid=%040d", i),
			"extendedProperties": map[string]any{"private": map[string]any{"frontdeskKey": fmt.Sprintf("%040d", i)}},
			"conferenceData": map[string]any{
				"entryPoints": []map[string]any{
					{"entryPointType": "video", "uri": "https://meet.example.com/abc-defg-hij"},
				},
				"createRequest": map[string]any{"status": map[string]any{"statusCode": "success"}},
			},
		}
	}
	answer, err := json.Marshal(map[string]any{"kind": "calendar#events", "items": items})
	if err != nil {
		panic(err)
	}
	return answer
}

// microsoftAnswer returns an answer of Microsoft's fake with the same events.
func microsoftAnswer(events int) []byte {
	items := make([]map[string]any, events)
	begin := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range items {
		at := begin.Add(time.Duration(i) * 3 * time.Minute)
		when := func(t time.Time) map[string]any {
			return map[string]any{"dateTime": t.Format("2006-01-02T15:04:05.0000000"), "timeZone": "UTC"}
		}
		person := func(address string) map[string]any {
			return map[string]any{"emailAddress": map[string]any{"name": address, "address": address}}
		}
		guest := person("sam@example.com")
		guest["type"] = "required"
		guest["status"] = map[string]any{"response": "none", "time": "0001-01-01T00:00:00Z"}
		items[i] = map[string]any{
			"@odata.etag": fmt.Sprintf("W/%q", fmt.Sprintf("%040d", i)), "id": fmt.Sprintf("AAMk%0120d", i),
			"subject": fmt.Sprintf("Consultation with Pat Doe %d", i), "isAllDay": false, "isCancelled": false,
			"body": map[string]any{
				"contentType": "text", "content": "First visit.\r\nBring the insurance card, \"please\".",
			},
			"start": when(at), "end": when(at.Add(30 * time.Minute)), "isOrganizer": true, "responseRequested": true,
			"originalStartTimeZone": "Eastern Standard Time", "originalEndTimeZone": "Eastern Standard Time",
			"responseStatus": map[string]any{"response": "organizer", "time": "0001-01-01T00:00:00Z"}, "showAs": "busy",
			"organizer": person(customer), "attendees": []any{guest}, "isOnlineMeeting": true, "seriesMasterId": nil,
			"location":      map[string]any{"displayName": "Microsoft Teams Meeting", "locationType": "default"},
			"onlineMeeting": map[string]any{"joinUrl": "https://teams.example.com/l/meetup-join/19%3ameeting"},
			"webLink":       fmt.Sprintf("https://outlook.office365.com/owa/?itemid=AAMk%0120d&exvsurl=1", i),
		}
	}
	answer, err := json.Marshal(map[string]any{"@odata.context": "https://graph.microsoft.com", "value": items})
	if err != nil {
		panic(err)
	}
	return answer
}

// BenchmarkReads lists ten events and 2,500 of a Google calendar, and ten of a Microsoft calendar, through a
// gateway as it is configured by default, in a process of its own. In turn, it asks the floor for them: a process with net/http, one call of
// the provider and encoding/json. It prints the processor time of both processes per request, and the
// median times of a caller who waits for each answer.
//
//	go test -tags nomsgpack,attack -run '^$' -bench Reads -benchtime 20x ./cmd/frontdesk
func BenchmarkReads(b *testing.B) {
	for _, events := range []int{10, 2500} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			benchmarkReads(b, "google", events, googleAnswer(events), "/events")
		})
	}
	b.Run("microsoft/10", func(b *testing.B) {
		benchmarkReads(b, "microsoft", 10, microsoftAnswer(10), "/calendarView")
	})
}

// benchmarkReads has the provider give the body at every path with that end. The floor reads Google's form.
func benchmarkReads(b *testing.B, provider string, events int, body []byte, path string) {
	giving := func(body []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		})
	}
	a := accounts()[provider](b)
	a.put(func(w http.ResponseWriter, r *http.Request, fake http.Handler) {
		if strings.HasSuffix(r.URL.Path, path) {
			giving(body).ServeHTTP(w, r)
			return
		}
		fake.ServeHTTP(w, r)
	})
	d := newDeployment(b, "", append(a.environ, profiled+"="+os.Getenv(profiled))...)
	keys := d.createTenants(tenant.Settings{}, []connection.Spec{a.connection})
	gateway := d.serve()
	plain := httptest.NewServer(giving(googleAnswer(events)))
	b.Cleanup(plain.Close)
	floor, floorPID := serveFloor(b, plain.URL)

	const window = `{"start_time":"2027-03-01","end_time":"2027-03-09","timezone":"America/New_York"}`
	perRound := max(10, 2000/events)
	list := func(base string) []time.Duration {
		c := caller{t: b, base: base, key: keys[0]}
		took := make([]time.Duration, perRound)
		for i := range took {
			began := time.Now()
			if a, err := c.call(http.MethodPost, "/v1/calendar/list-events", window); err != nil || a.status != 200 {
				b.Fatal(a.status, string(a.body), err)
			}
			took[i] = time.Since(began)
		}
		return took
	}
	var cpu [2]time.Duration
	var took [2][]time.Duration
	pids := [2]int{gateway.cmd.Process.Pid, floorPID}
	bases := [2]string{gateway.api, floor}
	for _, base := range bases {
		list(base)
	}
	for b.Loop() {
		for i := range bases {
			before := usedBy(b, pids[i])
			took[i] = append(took[i], list(bases[i])...)
			cpu[i] += usedBy(b, pids[i]) - before
		}
	}
	n := time.Duration(b.N * perRound)
	for i, name := range []string{"gateway", "floor"} {
		slices.Sort(took[i])
		b.ReportMetric(float64((cpu[i]/n).Nanoseconds())/1000, "µs-cpu-"+name)
		b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds())/1000, "µs-p50-"+name)
	}
	b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "cpu/floor")
	b.ReportMetric(0, "ns/op")
	if os.Getenv(profiled) != "" {
		gateway.stop()
	}
}

// BenchmarkRefusals compares the time of each refusal that costs its caller a request with that of /healthz,
// in one process and in turn. It prints the median times and their ratios.
//
//	go test -tags nomsgpack,attack -run '^$' -bench Refusals -benchtime 20x ./cmd/frontdesk
func BenchmarkRefusals(b *testing.B) {
	a := accounts()["google"](b)
	a.put(func(w http.ResponseWriter, r *http.Request, fake http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
	})
	environ := append(a.environ, "FRONTDESK_RESILIENCE__BREAKER__OPEN_FOR=10m", profiled+"="+os.Getenv(profiled))
	d := newDeployment(b, "", environ...)
	keys := d.createTenants(tenant.Settings{}, []connection.Spec{a.connection})
	open := d.serve()
	limited := newDeployment(b, "", append(slices.Clone(environ), "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=1")...)
	limitedKeys := limited.createTenants(tenant.Settings{}, []connection.Spec{a.connection})
	limit := limited.serve()

	const window = `{"start_time":"2027-03-01","end_time":"2027-03-09","timezone":"America/New_York"}`
	one := func(gateway *running, method, path, key string, wants int) time.Duration {
		req, err := http.NewRequest(method, gateway.api+path, strings.NewReader(window))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("X-Api-Key", key)
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		took := time.Since(began)
		if wants != 0 && resp.StatusCode != wants {
			b.Fatalf("%s is answered with %d", path, resp.StatusCode)
		}
		return took
	}
	const path = "/v1/calendar/list-events"
	for range 20 {
		one(open, http.MethodPost, path, keys[0], 503)
	}
	one(limit, http.MethodPost, path, limitedKeys[0], 0)
	kinds := []struct {
		name    string
		refused func() time.Duration
		healthz func() time.Duration
	}{
		{"breaker", func() time.Duration { return one(open, http.MethodPost, path, keys[0], 503) },
			func() time.Duration { return one(open, http.MethodGet, "/healthz", "", 200) }},
		{"limit", func() time.Duration { return one(limit, http.MethodPost, path, limitedKeys[0], 429) },
			func() time.Duration { return one(limit, http.MethodGet, "/healthz", "", 200) }},
		{"key", func() time.Duration { return one(open, http.MethodPost, path, "fd_live_wrong", 401) },
			func() time.Duration { return one(open, http.MethodGet, "/healthz", "", 200) }},
	}
	refused, health := make([][]time.Duration, len(kinds)), make([][]time.Duration, len(kinds))
	for b.Loop() {
		for i, k := range kinds {
			for range 50 {
				refused[i] = append(refused[i], k.refused())
				health[i] = append(health[i], k.healthz())
			}
		}
	}
	for i, k := range kinds {
		slices.Sort(refused[i])
		slices.Sort(health[i])
		median := refused[i][len(refused[i])/2]
		b.ReportMetric(float64(median.Nanoseconds())/1000, "µs-"+k.name)
		b.ReportMetric(float64(median)/float64(health[i][len(health[i])/2]), k.name+"/healthz")
	}
	b.ReportMetric(0, "ns/op")
	if os.Getenv(profiled) != "" {
		open.stop()
	}
}
