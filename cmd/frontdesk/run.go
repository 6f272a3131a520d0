package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/gateway"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// world holds what a command uses from outside: the adapters, the standard streams and the environment.
type world struct {
	adapters []adapter.Adapter
	in       io.Reader
	out      io.Writer // results only
	err      io.Writer // messages
	environ  []string
}

func system(adapters []adapter.Adapter) world {
	return world{adapters: adapters, in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
}

// commands is the whole command line.
type commands struct {
	Config string `help:"Configuration file. Environment variables override it." type:"path" placeholder:"FILE"`

	Serve  serveCommand  `cmd:"" help:"Run the gateway."`
	Health healthCommand `cmd:"" help:"Ask the gateway that runs on this machine whether it is ready."`

	Tenant struct {
		Create tenantCreate `cmd:"" help:"Create a tenant."`
		List   tenantList   `cmd:"" help:"List the tenants."`
		Change tenantChange `cmd:"" help:"Change a tenant's settings."`
		Export tenantExport `cmd:"" help:"Write everything that is kept for a tenant, but for secrets."`
		Delete tenantDelete `cmd:"" help:"Delete a tenant with its connections, keys and records."`
	} `cmd:"" help:"Tenants: the operator's customers."`

	Key struct {
		Create keyCreate `cmd:"" help:"Create an API key and print it. It is shown only once."`
		List   keyList   `cmd:"" help:"List a tenant's API keys."`
		Roll   keyRoll   `cmd:"" help:"Create an API key in the place of another one, which stays valid for a while, and print it."`
		Revoke keyRevoke `cmd:"" help:"Revoke an API key. It stops working within 5 seconds."`
	} `cmd:"" help:"API keys."`

	Admin struct {
		Link adminLink `cmd:"" help:"Print a link that signs one person in at the settings page, once."`
		Key  struct {
			Create adminKeyCreate `cmd:"" help:"Create a key of the admin interface and print it. It is shown only once."`
			List   adminKeyList   `cmd:"" help:"List the keys of the admin interface."`
			Revoke adminKeyRevoke `cmd:"" help:"Revoke a key of the admin interface. It stops working within 5 seconds."`
		} `cmd:"" help:"Keys of the admin interface."`
	} `cmd:"" help:"The settings page, /settings, and the admin interface, /alpha/admin."`

	Connection struct {
		Add    connectionAdd    `cmd:"" help:"Connect a tenant to an account at a provider, or replace a connection's settings and credentials."`
		Change connectionChange `cmd:"" help:"Change settings of a connection."`
		List   connectionList   `cmd:"" help:"List a tenant's connections."`
		Verify connectionVerify `cmd:"" help:"Ask the provider whether a connection works."`
		Health connectionHealth `cmd:"" help:"Say whether a connection works, and since when, from the requests that used it."`
		Remove connectionRemove `cmd:"" help:"Remove a connection."`
	} `cmd:"" help:"Connections to calendars, CRMs and telephony providers."`

	Webhook struct {
		Add        webhookAdd        `cmd:"" help:"Send events to an address, and print the signing secret. It is shown only once."`
		List       webhookList       `cmd:"" help:"List the webhooks."`
		Remove     webhookRemove     `cmd:"" help:"Remove a webhook with its deliveries."`
		Roll       webhookRoll       `cmd:"" help:"Give a webhook a new signing secret and print it. The former one signs as well for a while."`
		Test       webhookTest       `cmd:"" help:"Send a test to a webhook, and say what became of it."`
		Deliveries webhookDeliveries `cmd:"" help:"List what was sent to the webhooks, or send it again."`
	} `cmd:"" help:"Webhooks: events sent to the platform or to a tenant's own systems."`

	Agent struct {
		Add    agentAdd    `cmd:"" help:"Create a voice agent at a platform, and print its address."`
		List   agentList   `cmd:"" help:"List a tenant's voice agents."`
		Change agentChange `cmd:"" help:"Change the signing secret, the scopes or the connections of a voice agent."`
		Remove agentRemove `cmd:"" help:"Remove a voice agent. Its address stops working within 5 seconds."`
	} `cmd:"" help:"Voice agents, whose platforms sign their requests and so need no API key."`

	ConnectLink connectLink `cmd:"" help:"Print a link by which a customer connects an account."`

	Number struct {
		List    numberList    `cmd:"" help:"List a tenant's phone numbers, including released ones that still wait to go back."`
		Buy     numberBuy     `cmd:"" help:"Buy a number in an area code."`
		Rename  numberRename  `cmd:"" help:"Give a number another display name."`
		Assign  numberAssign  `cmd:"" help:"Say which cloud employees answer and call with a number."`
		Release numberRelease `cmd:"" help:"Give a number back to its provider, at once or after release_delay."`
		Adopt   numberAdopt   `cmd:"" help:"Give a connection a number that its account already holds (for numbers=own)."`
		Restore numberRestore `cmd:"" help:"Put a released number back into use while it waits (release_delay)."`
	} `cmd:"" help:"Phone numbers."`

	Providers providersCommand `cmd:"" help:"List the providers with their settings and credentials."`
	Apply     applyCommand     `cmd:"" help:"Make tenants, connections and voice agents match a file."`
	Doctor    doctorCommand    `cmd:"" help:"Check the configuration, the store, the clock, the key set, the audit and every connection."`

	Request struct {
		List requestList `cmd:"" help:"List a tenant's last requests."`
		Show requestShow `cmd:"" help:"Show a request with each call of a provider that it made."`
	} `cmd:"" help:"The log of requests."`

	Audit struct {
		List    auditList    `cmd:"" help:"List the changes: who changed what, when, and with what outcome."`
		Verify  auditVerify  `cmd:"" help:"Check that no row of the audit was changed, moved, inserted or removed."`
		Archive auditArchive `cmd:"" help:"Move old rows of the audit to files, while the gateway serves."`
	} `cmd:"" help:"The record of every change."`

	Keyset struct {
		Rotate keysetRotate `cmd:"" help:"Create a new encryption key and seal every credential with it, while the gateway serves."`
		Status keysetStatus `cmd:"" help:"Show the encryption keys and how many credentials each seals."`
		Copy   keysetCopy   `cmd:"" help:"Write the keys to a new file, encrypted with a key of a key management service or in cleartext."`
	} `cmd:"" help:"The encryption keys of the stored credentials."`

	Backup  backupCommand  `cmd:"" help:"Write a consistent copy of the database to a file, while the gateway serves."`
	Restore restoreCommand `cmd:"" help:"Replace the database with a copy that backup wrote."`

	AgentTools agentTools `cmd:"" name:"agent-tools" help:"Print the tools for an agent on a voice platform, with the lines for its prompt."`

	Migrate  migrateCommand  `cmd:"" help:"Bring the database's tables up to date. serve does this by itself."`
	OpenAPI  openapiCommand  `cmd:"" name:"openapi" help:"Print the OpenAPI description of the API."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Licenses licensesCommand `cmd:"" help:"Print the licences of the software in this binary."`

	Completion completionCommand `cmd:"" help:"Print the script by which a shell completes commands and flags."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"Print the words that can follow, for the scripts of completion."`
	Man        manCommand        `cmd:"" help:"Print the manual page."`
}

// run executes one command and returns its exit code.
func run(args []string, w world) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("frontdesk"), kong.Writers(w.out, w.err),
		kong.Exit(func(code int) { exit = code }),
		kong.Description(
			"A self-hosted gateway that gives voice agents a front desk: calendars, tickets and phone numbers "+
				"behind one small API."),
		kong.Vars{"platforms": platforms(), "agent_platforms": agentPlatforms()}, kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(w.err, "frontdesk:", err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // help was asked for and printed
		return exit
	}
	if err != nil {
		fmt.Fprintf(w.err, "frontdesk: %v\nRun \"frontdesk --help\" for the commands.\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)         // a second one ends the process at once
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it: the command goes on
		// A closed terminal can send it twice, and SIGTERM with it. That ends nothing at once.
		hungUp, forget := signal.NotifyContext(ctx, syscall.SIGHUP)
		defer forget()
		ctx = hungUp
	}
	command, _, _ := strings.Cut(parsed.Command(), " <") // without its arguments
	parsed.Bind(parser)
	parsed.BindTo(gateway.AsOperator(ctx, command), (*context.Context)(nil))
	err = parsed.Run(&session{world: w, path: c.Config})
	if err == nil {
		return exitOK
	}
	explain(w.err, err)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// usageError is an error of the command line that its grammar does not catch.
type usageError string

func (e usageError) Error() string { return string(e) }

func usage(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// explain prints an error for people. For a fault it prints the detail, with what the error says before it, and the
// fields, but no codes.
func explain(to io.Writer, err error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		fmt.Fprintln(to, "frontdesk:", err)
		return
	}
	before, ends := strings.CutSuffix(err.Error(), f.Error())
	if !ends { // several errors, of which the fault is not the last
		before = ""
	}
	fmt.Fprintln(to, "frontdesk:", before+f.Detail)
	for _, field := range f.Fields {
		fmt.Fprintf(to, "  %s %s\n", field.Path, field.Text())
	}
	if cause := f.ForOperator(); cause != "" {
		fmt.Fprintln(to, "  cause:", cause)
	}
}

// session gives one command access to the gateway.
type session struct {
	world
	path string
}

func (s *session) config() (config.Config, error) {
	providers, err := gateway.Providers(s.adapters)
	if err != nil {
		return config.Config{}, err
	}
	return config.Load(s.path, s.environ, providers)
}

// configForCommand returns the configuration for a command other than serve, which logs only warnings and
// errors, as text.
func (s *session) configForCommand() (config.Config, error) {
	cfg, err := s.config()
	cfg.Log.Level, cfg.Log.Format = "warn", "text"
	return cfg, err
}

// gateway opens the gateway for a command other than serve.
func (s *session) gateway(ctx context.Context) (*gateway.Gateway, error) {
	cfg, err := s.configForCommand()
	if err != nil {
		return nil, err
	}
	return s.open(ctx, cfg)
}

func (s *session) open(ctx context.Context, cfg config.Config) (*gateway.Gateway, error) {
	o := s.options()
	o.ServesNothing = true
	return gateway.Open(ctx, cfg, o)
}

// options returns what a gateway needs besides its configuration.
func (s *session) options() gateway.Options {
	return gateway.Options{Adapters: s.adapters, LogTo: s.err, OpenKey: openKey}
}

// with opens the gateway, brings its store up to date, calls do and closes the gateway.
func (s *session) with(ctx context.Context, do func(*gateway.Gateway) error) error {
	cfg, err := s.configForCommand()
	if err != nil {
		return err
	}
	return s.withConfig(ctx, cfg, do)
}

// withConfig is with for a configuration that the command has changed.
func (s *session) withConfig(ctx context.Context, cfg config.Config, do func(*gateway.Gateway) error) error {
	g, err := s.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Migrate(ctx); err != nil {
		return err
	}
	return do(g)
}
