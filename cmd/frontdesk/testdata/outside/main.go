// Command main is the gateway with one more adapter: a copy of cmd/frontdesk with another list. If its last
// argument is "example", it prints its example configuration.
package main

import (
	"fmt"
	"os"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/gateway"
	"outside.example/gateway/desk"
)

func main() {
	adapters := append(all.Adapters(), desk.Adapter())
	if os.Args[len(os.Args)-1] == "example" {
		providers, err := gateway.Providers(adapters)
		fmt.Print(config.Example(providers))
		if err != nil {
			os.Exit(exitFailed)
		}
		return
	}
	os.Exit(run(os.Args[1:], system(adapters)))
}
