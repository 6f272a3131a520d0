// Command frontdesk is the gateway and the tool that manages it. It wires the adapters to the gateway and
// holds no logic. To build a binary with your own adapters, copy this folder and change the list.
package main

import (
	"os"

	"frontdesk/adapters/all"
)

func main() {
	os.Exit(run(os.Args[1:], system(all.Adapters())))
}
