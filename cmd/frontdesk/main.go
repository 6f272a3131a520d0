// Command frontdesk is the gateway and the tool that manages it. It wires the adapters to the gateway and
// holds no logic; a binary with adapters of one's own is a copy of this folder with another list.
package main

import (
	"os"

	"frontdesk/adapters/all"
)

func main() {
	os.Exit(run(os.Args[1:], system(all.Adapters())))
}
