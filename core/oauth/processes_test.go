package oauth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// shortLimits returns limits for tests that stop and kill processes in real time. They are short, but long
// compared to one request on a busy machine.
func shortLimits() Limits {
	l := StandardLimits()
	l.Lease, l.Redeem, l.Patience = 2500*time.Millisecond, 2*time.Second, 200*time.Millisecond
	l.LeasePoll, l.TakeoverPoll, l.FailureTTL = 20*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	l.SlowFailure, l.RefusalTTL = 100*time.Millisecond, 300*time.Millisecond
	return l
}

// keeperProcess is the main function of the test binary when it runs as a replica. For each line of its input
// it prints a token, or the reason of the fault.
func keeperProcess() error {
	ctx := context.Background()
	s, err := store.Open(ctx, os.Getenv("STORE"))
	if err != nil {
		return err
	}
	v, err := vault.Open("", os.Getenv("KEYS"))
	if err != nil {
		return err
	}
	refresh := os.Getenv("REFRESH")
	source := NewTokenSource(Options{
		Store: s, Vault: v, Owner: os.Getenv("REPLICA"), Limits: shortLimits(),
		Credentials: func(context.Context, string, string) (Credentials, error) {
			return Credentials{Refresh: refresh, Fingerprint: "since " + refresh, Revision: 1, Client: Client{
				Provider: "provider", ID: "id", Secret: clientSecret, HTTP: &http.Client{Transport: &http.Transport{}},
				Grant: adapter.Grant{Flow: adapter.Consent, TokenURL: os.Getenv("TOKEN_URL")},
			}}, nil
		},
	})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		access, err := source.Token(ctx, tenantID, theConnection)
		if err != nil {
			access = fault.From(err).Reason
		}
		if _, err := fmt.Println(access); err != nil {
			return err
		}
	}
	source.Close()
	return s.Close()
}

// replica is a process with a token source.
type replica struct {
	t       *testing.T
	process *os.Process
	input   io.Writer
	output  *bufio.Scanner
}

// ask makes the process get a token, and returns the token or the reason of the fault.
func (r *replica) ask() string {
	if _, err := io.WriteString(r.input, "token\n"); err != nil {
		return err.Error()
	}
	if !r.output.Scan() {
		return "the process has ended"
	}
	return r.output.Text()
}

func (r *replica) signal(s os.Signal) {
	r.t.Helper()
	if err := r.process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// replicas are processes that share a store and a provider.
type replicas struct {
	*harness
	server *httptest.Server

	mu   sync.Mutex
	hold func(answer func()) // replaces the provider's response; may be nil
}

func newReplicas(t *testing.T, url string) *replicas {
	t.Helper()
	p := &replicas{harness: build(t, url, oauthtest.SingleUse, time.Hour)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token/{replica}", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil { // reads the whole body, so that net/http detects a disconnect
			t.Error(err)
		}
		p.mu.Lock()
		hold := p.hold
		p.mu.Unlock()
		r.URL.Path = "/token"
		if hold == nil {
			p.fake.ServeHTTP(w, r)
			return
		}
		hold(func() { p.fake.ServeHTTP(w, r) })
	})
	p.server = httptest.NewServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

// start starts a replica process.
func (p *replicas) start(name string) *replica {
	p.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "REPLICA="+name, "STORE="+p.url, "KEYS="+p.keys,
		"REFRESH="+p.given[theConnection].Refresh, "TOKEN_URL="+p.server.URL+"/token/"+name)
	var answer strings.Builder
	cmd.Stderr = &answer
	input, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = input.Close() // ends the process
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Wait() // fails if the test has killed the process
		if answer.Len() > 0 {
			p.t.Errorf("replica %s: %s", name, &answer)
		}
	})
	return &replica{t: p.t, process: cmd.Process, input: input, output: bufio.NewScanner(output)}
}

// holding replaces the provider's responses with hold; nil restores them.
func (p *replicas) holding(hold func(answer func())) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = hold
}

// until waits until the condition is true, and fails the test after a minute.
func (p *replicas) until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("after a minute, %s", what)
		}
	}
}

// wantToken waits until each of the replicas has a token that works.
func (p *replicas) wantToken(replicas ...*replica) {
	p.t.Helper()
	for _, r := range replicas {
		p.until("a replica has no token", func() bool {
			_, works := p.fake.Bearer(bearer(r.ask()))
			return works
		})
	}
}

// A process that is stopped in the middle of a redeem keeps its turn although its lease expires. When it
// continues, it still waits for the response, although more time has passed than a redeem may take.
func TestAReplicaIsStoppedWhileItRedeems(t *testing.T) {
	t.Parallel()
	p := newReplicas(t, storetest.Postgres(t)) // SQLite has no turns
	a, b, c := p.start("a"), p.start("b"), p.start("c")
	acted, reply := make(chan struct{}), make(chan struct{})
	p.holding(func(answer func()) {
		answer() // the response is sent when this function returns
		close(acted)
		<-reply
	})
	answered := make(chan string, 1)
	go func() { answered <- a.ask() }()
	<-acted
	a.signal(syscall.SIGSTOP)
	p.holding(nil)
	p.until("the lease has not lapsed", func() bool {
		row := p.row(theConnection)
		return row.LeaseOwner == "a" && row.LeaseUntil.Before(time.Now())
	})
	for _, r := range []*replica{b, c} {
		if got := r.ask(); got != fault.ReasonProviderUnavailable {
			t.Errorf("another replica answers %s", got)
		}
	}
	release, held, err := p.store.HoldTurn(t.Context(), theConnection, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if held {
		release()
		t.Error("the turn of a stopped process can be taken")
	}
	if calls := p.fake.TokenCalls(); calls != 1 {
		t.Errorf("%d calls while the holder was stopped", calls)
	}
	a.signal(syscall.SIGCONT)
	if got := <-answered; got != fault.ReasonProviderUnavailable { // its timers have expired
		t.Errorf("the call of the process that goes on is told %s", got)
	}
	close(reply)
	p.wantToken(a, b, c)
	if p.fake.Redeems() != 1 {
		t.Errorf("%d redeems", p.fake.Redeems())
	}
	p.wantFamily()
}

// A process that is killed loses its turn at once. After its lease has expired, another process redeems the
// refresh token.
func TestAReplicaIsKilledWhileItRedeems(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newReplicas(t, open(t))
			a, b := p.start("a"), p.start("b")
			asked, gone := make(chan struct{}), make(chan struct{})
			p.holding(func(func()) { // before the provider acts
				close(asked)
				<-gone
			})
			go a.ask()
			<-asked
			p.holding(nil)
			a.signal(syscall.SIGKILL)
			close(gone)
			p.wantToken(b)
			if calls := p.fake.TokenCalls(); calls != 1 {
				t.Errorf("%d calls", calls)
			}
			p.wantFamily()
		})
	}
}
