// Package servertest starts a real ticket system for tests: on loopback, with its own database, for as long
// as the test runs. If the system is not installed, it skips the test, unless FRONTDESK_REQUIRE_ALL=1
// requires every system.
package servertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/adapter/adaptertest"
)

// Account is an account at a started server.
type Account struct {
	URL            string // of the server
	User, Password string
}

// The programs of Debian's package request-tracker5 that set up and run Request Tracker. Its database needs sqlite3.
const (
	program = "/usr/share/request-tracker5/libexec/rt-server"
	setUp   = "/usr/sbin/rt-setup-database-5"
)

// RequestTracker starts a Request Tracker 5 with its first user and its first queue, General. It needs no
// root.
func RequestTracker(tb testing.TB) Account {
	tb.Helper()
	for _, file := range []string{program, setUp} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("FRONTDESK_REQUIRE_ALL") == "1" {
			tb.Fatalf("%s is not installed, and FRONTDESK_REQUIRE_ALL=1 wants every server", file)
		}
		tb.Skipf("%s is not installed", file)
	}
	folder := tb.TempDir()
	host, port := "127.0.0.1", adaptertest.FreePort(tb)
	address := net.JoinHostPort(host, port)
	environ, err := configure(folder, host, port)
	if err != nil {
		tb.Fatal(err)
	}
	kept, err := keptDatabase()
	if err != nil {
		tb.Fatal(err)
	}
	// One process serves: each of ten would load what it needs at its first request, and another would take its place
	// after a hundred.
	serve := exec.Command("perl", "-e", setUpAndServe, "--", kept, "--host", host, "--port", port,
		"--max-workers", "1", "--max-reqs-per-child", "100000", "--min-reqs-per-child", "100000")
	serve.Env, serve.Dir = environ, folder
	start(tb, serve, filepath.Join(folder, "log"))
	a := Account{URL: "http://" + address, User: "root", Password: "password"}
	a.await(tb)
	return a
}

// setUpAndServe serves a copy of the kept database, which a child process makes if there is none. Most of the time that
// the two programs take goes into the modules that both need, which are loaded once before. A call's password, which RT
// hashes anew for each call, is hashed once, and compared as any text: nobody measures how long that takes.
const setUpAndServe = `
use lib '/usr/share/request-tracker5/lib';
use File::Copy;
require RT;
RT->LoadConfig;
RT->InitClasses;
my $kept = shift;
my $database = RT->Config->Get('DatabaseName');
if (!-e $kept) {
	my $child = fork // die $!;
	if (!$child) {
		@ARGV = qw(--action init --skip-create);
		do '` + setUp + `';
		die $@ if $@;
		RT->DatabaseHandle->dbh->do(q{` + mailNobody + `});
		exit;
	}
	waitpid $child, 0;
	die 'the database could not be made' if $?;
	copy($database, "$kept.$$") && rename("$kept.$$", $kept) or die "$kept: $!";
}
copy($kept, $database) or die "$kept: $!";
my ($hash, %hashes) = \&RT::User::_GeneratePassword_bcrypt;
no warnings 'redefine';
*RT::User::_GeneratePassword_bcrypt = sub { @_ > 2 ? $hashes{"@_[1 .. $#_]"} //= $hash->(@_) : $hash->(@_) };
*RT::Util::constant_time_eq = sub { $_[0] eq $_[1] };
my $app = do '` + program + `' // die $@;
my $server = RT::PlackRunner->new(server => 'Starlet', env => 'deployment', app => $app);
$server->parse_options(@ARGV);
$server->run;
`

// keptDatabase returns the file of a new database for later servers, named after all that it is made of.
func keptDatabase() (string, error) {
	made := sha256.New()
	_, _ = io.WriteString(made, setUpAndServe+siteConfig)
	for _, file := range []string{"etc/initialdata", "etc/schema.SQLite", "lib/RT/Generated.pm"} { // that has the version
		text, err := os.ReadFile(filepath.Join("/usr/share/request-tracker5", file))
		if err != nil {
			return "", err
		}
		_, _ = made.Write(text)
	}
	folder := filepath.Join(os.TempDir(), "frontdesk-request-tracker")
	return filepath.Join(folder, fmt.Sprintf("%x", made.Sum(nil)[:8])), os.MkdirAll(folder, 0o700)
}

// configure makes the folder of a Request Tracker and returns the environment of its programs.
func configure(folder, host, port string) (environ []string, err error) {
	for _, name := range []string{"conf", "var", "mason", "sessions"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(siteConfig, folder, host, port)
	file := filepath.Join(folder, "conf", "RT_SiteConfig.pm")
	return append(os.Environ(), "RT_SITE_CONFIG="+file,
			"RT_SITE_CONFIG_DIR="+filepath.Join(folder, "none"), "TMPDIR="+filepath.Join(folder, "var")),
		os.WriteFile(file, []byte(config), 0o600)
}

// siteConfig is RT's configuration in a folder, at a host and port. Hashes of passwords are cheap. One process alone
// changes the database, so that what it has read need not be read again for each call.
const siteConfig = `
Set($rtname, 'example.com'); Set($Organization, 'example.com'); Set($Timezone, 'UTC'); Set($BcryptCost, 4);
Set($WebPath, ''); Set($WebDomain, '%[2]s'); Set($WebPort, %[3]s); Set($WebBaseURL, 'http://%[2]s:%[3]s');
Set($DatabaseType, 'SQLite'); Set($DatabaseName, '%[1]s/var/rtdb');
Set($WebFlushDbCacheEveryRequest, 0); Set($MailCommand, 'testfile'); Set($LogToSyslog, undef); Set($LogToSTDERR, 'error');
$RT::VarPath = '%[1]s/var'; $RT::MasonDataDir = '%[1]s/mason'; $RT::MasonSessionDir = '%[1]s/sessions';
1;
`

// mailNobody disables what writes mail at every change of a ticket, half of the time that the change takes. The other
// rules, which open a ticket at a customer's reply, stay.
const mailNobody = `UPDATE Scrips SET Disabled = 1 WHERE ScripAction IN
	(SELECT id FROM ScripActions WHERE ExecModule = 'Autoreply' OR ExecModule LIKE 'Notify%')`

// start runs a program, and those that it starts, until the test ends.
func start(tb testing.TB, command *exec.Cmd, logFile string) {
	tb.Helper()
	log, err := os.Create(logFile)
	if err != nil {
		tb.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it serves requests in child processes
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait() // it was killed, so its status says nothing
		_ = log.Close()
		if text, err := os.ReadFile(logFile); err == nil && tb.Failed() && len(text) > 0 {
			tb.Logf("Request Tracker said:\n%s", tail(text))
		}
	})
}

// await waits until the server accepts its user.
func (a Account) await(tb testing.TB) {
	tb.Helper()
	const patience, pause = 5 * time.Minute, 100 * time.Millisecond // on a machine that is busy
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/REST/2.0/rt", nil)
		if err != nil {
			tb.Fatal(err)
		}
		req.SetBasicAuth(a.User, a.Password)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				http.DefaultClient.CloseIdleConnections()
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("Request Tracker does not answer at %s", a.URL)
		}
	}
}

func tail(text []byte) string {
	const most = 4000
	return string(text[max(0, len(text)-most):])
}
