package signin_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/signin"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is a request of a browser with the session's cookie.
func request(cookie *http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/settings", nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return r
}

// save stores a session and returns the cookie that it sends, or nil.
func save(t *testing.T, s *signin.Sessions, ctx context.Context) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	if err := s.Save(ctx, w); err != nil {
		t.Fatal(err)
	}
	if sent := w.Result().Cookies(); len(sent) > 0 {
		return sent[0]
	}
	return nil
}

func load(t *testing.T, s *signin.Sessions, cookie *http.Cookie) (context.Context, signin.Person) {
	t.Helper()
	ctx, p, err := s.Load(request(cookie))
	if err != nil {
		t.Fatal(err)
	}
	return ctx, p
}

var pat = signin.Person{Name: "pat", Role: apikey.RoleAdmin}

func begin(t *testing.T, s *signin.Sessions) *http.Cookie {
	t.Helper()
	ctx, _ := load(t, s, nil)
	if err := s.Begin(ctx, pat, nil); err != nil {
		t.Fatal(err)
	}
	return save(t, s, ctx)
}

func options(t *testing.T, url string, now func() time.Time) (signin.Options, *tenanttest.Kit) {
	k := tenanttest.Open(t, url)
	k.Store.SealWith(k.Vault)
	return signin.Options{Store: k.Store, Now: now, Log: slog.New(slog.DiscardHandler)}, k
}

// A request that is still served does not bring back the session that another one has ended.
func TestAnEndedSessionStaysEnded(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		o, _ := options(t, url, time.Now)
		s := signin.NewSessions(o)
		for name, end := range map[string]func(context.Context) error{
			"signed out": s.End, "everywhere": func(ctx context.Context) error { return s.EndAll(ctx, "") },
		} {
			cookie := begin(t, s)
			slow, p := load(t, s, cookie)
			if p != pat {
				t.Fatalf("signed in is %+v", p)
			}
			s.Notify(slow, "something to store")
			other, _ := load(t, s, cookie)
			if err := end(other); err != nil {
				t.Fatal(err)
			}
			if sent := save(t, s, other); sent == nil || sent.Value != "" {
				t.Errorf("%s: the cookie is not removed: %v", name, sent)
			}
			if sent := save(t, s, slow); sent == nil || sent.Value != "" {
				t.Errorf("%s: the slow request keeps its cookie: %v", name, sent)
			}
			if _, p := load(t, s, cookie); p != (signin.Person{}) {
				t.Errorf("%s: %+v is signed in again", name, p)
			}
		}
	})
}

// A session ends half an hour after its last request, and twelve hours after it began, however busy.
func TestSessionsEndByThemselves(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		o, k := options(t, url, time.Now)
		defer k.Store.Close()
		s := signin.NewSessions(o)
		good := func(cookie *http.Cookie) bool {
			ctx, p := load(t, s, cookie)
			save(t, s, ctx)
			return p == pat
		}
		idle := begin(t, s)
		time.Sleep(30*time.Minute - time.Second)
		if !good(idle) {
			t.Error("the session ended early")
		}
		time.Sleep(30*time.Minute + time.Second)
		if good(idle) {
			t.Error("an idle session goes on")
		}
		busy := begin(t, s)
		for range 35 {
			time.Sleep(20 * time.Minute)
			if !good(busy) {
				t.Fatal("a session in use ended early")
			}
		}
		time.Sleep(20*time.Minute + time.Second)
		if good(busy) {
			t.Error("the session goes on after twelve hours")
		}
	})
}

// A notice is shown once, on the next page.
func TestANoticeIsShownOnce(t *testing.T) {
	o, _ := options(t, storetest.SQLite(t), time.Now)
	s := signin.NewSessions(o)
	cookie := begin(t, s)
	ctx, _ := load(t, s, cookie)
	s.Notify(ctx, "saved")
	save(t, s, ctx)
	for _, want := range []string{"saved", ""} {
		ctx, _ := load(t, s, cookie)
		if got := s.Notice(ctx); got != want {
			t.Errorf("the notice is %q, want %q", got, want)
		}
		save(t, s, ctx)
	}
}

// What is wrong in a request for a link is named.
func TestLinksForNobody(t *testing.T) {
	o, k := options(t, storetest.SQLite(t), time.Now)
	k.Tenant("acme")
	links := signin.NewLinks(o)
	for name, c := range map[string]struct {
		link signin.NewLink
		want string
	}{
		"role":           {signin.NewLink{Role: "root"}, "INVALID_REQUEST"},
		"name":           {signin.NewLink{Person: "pat\nroot"}, "INVALID_REQUEST"},
		"unknown tenant": {signin.NewLink{Tenant: "zebra"}, "TENANT_NOT_FOUND"},
	} {
		if _, _, err := links.Create(t.Context(), c.link); reasonOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, made, err := links.Create(audit.By(t.Context(), "operator:admin link"), signin.NewLink{Tenant: "acme"})
	if err != nil || made.Name != "administrator" || made.Role != apikey.RoleAdmin || made.TenantID == "" {
		t.Errorf("%+v, %v", made, err)
	}
}

// Another process rotated the key set, and left it as this one cannot read it: nothing is known of what that
// process sealed.
func TestKeySetThatCannotBeReadSignsNobodyOut(t *testing.T) {
	o, k := options(t, storetest.SQLite(t), time.Now)
	other, err := vault.Open("", k.DataDir)
	tenanttest.Must(t, err)
	_, err = other.Rotate()
	tenanttest.Must(t, err)
	k.Store.SealWith(other)
	sessions, links := signin.NewSessions(o), signin.NewLinks(o)
	cookie := begin(t, sessions)
	token, _, err := links.Create(t.Context(), signin.NewLink{})
	tenanttest.Must(t, err)
	begun, err := other.SealColumn("browser", "openid", nil, []byte("{}"))
	tenanttest.Must(t, err)
	back := request(&http.Cookie{Name: "__Host-frontdesk-openid", Value: base64.RawURLEncoding.EncodeToString(begun)})
	openID := signin.NewOpenID(signin.OpenIDOptions{Options: o, Sealer: k.Vault})

	k.Store.SealWith(k.Vault)
	path := filepath.Join(k.DataDir, "keyset.json")
	tenanttest.Must(t, os.Chmod(path, 0o644))
	_, _, err = sessions.Load(request(cookie))
	tenanttest.WantFault(t, err, fault.Unavailable, store.ReasonRowUnreadable)
	_, err = links.Get(t.Context(), token)
	tenanttest.WantFault(t, err, fault.Unavailable, store.ReasonRowUnreadable)
	_, err = openID.Finish(back, mayAlways)
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	tenanttest.Must(t, os.Chmod(path, 0o600))
	if _, p := load(t, sessions, cookie); p != pat {
		t.Errorf("signed in is %+v", p)
	}
	_, err = links.Get(t.Context(), token)
	tenanttest.Must(t, err)
}

func mayAlways() error { return nil }

// While the provider leaves one question without an answer, others can sign in.
func TestNobodyWaitsForAnotherSignIn(t *testing.T) {
	o, k := options(t, storetest.SQLite(t), time.Now)
	asked, hang, calls := make(chan struct{}), make(chan struct{}), atomic.Int64{}
	var issuer string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			close(asked)
			<-hang
		}
		fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": %q}`, issuer, issuer+"/authorize")
	}))
	defer provider.Close()
	issuer = provider.URL
	openID := signin.NewOpenID(signin.OpenIDOptions{Options: o, Sealer: k.Vault, Issuer: issuer})
	defer openID.Close()
	begin := func() <-chan error {
		done := make(chan error, 1)
		go func() {
			_, _, err := openID.Begin(t.Context(), mayAlways)
			done <- err
		}()
		return done
	}
	first := begin()
	<-asked
	select {
	case err := <-begin():
		tenanttest.Must(t, err)
	case <-time.After(10 * time.Second):
		t.Error("the second sign-in waits for the first")
	}
	close(hang)
	tenanttest.Must(t, <-first)
}
