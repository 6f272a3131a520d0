// Command serve runs the pretended Twilio, for trying the gateway by hand:
//
//	go run ./adapters/telephony/twilio/fake/serve --listen 127.0.0.1:9121
//
// It prints the variable that points a gateway at it, and the settings of a connection to it. What is bought is forgotten
// when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const authToken = "fake-auth-token"

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9121", "address to listen on; port 0 takes a free one")
	trial := flags.Bool("trial", false, "the account is a trial, which can have one number")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	return adaptertest.Serve(ctx, *listen, out, func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{AuthToken: authToken, Trial: *trial}), [][2]string{
			{"FRONTDESK_PROVIDERS__TWILIO__API_URL", base},
			{"account_sid", fake.AccountSID}, {"auth_token", authToken}, {"subaccount_sid", fake.SubaccountSID},
			{"voice_application", fake.Application}, {"sip_trunk", fake.Trunk}, {"address_sid", fake.Address}, {"bundle_sid", fake.Bundle},
		}
	})
}
