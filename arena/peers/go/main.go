// Command peer-go is the Go peer of the arena: the workloads of WORKLOADS.md as a Go
// programmer would write them, with the standard library only, behind the peer protocol
// (one command of words per line in, one line of JSON out).
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	arena := flag.Int("arena", 0, "protocol version; the harness passes 1")
	system := flag.String("system", "go", "go or go-reused-timer")
	flag.Parse()
	if *arena != 1 {
		fmt.Fprintln(os.Stderr, "peer-go speaks to the arena: --arena 1 --system go|go-reused-timer")
		os.Exit(2)
	}
	cells, ok := systems()[*system]
	if !ok {
		fmt.Fprintf(os.Stderr, "peer-go: no system %q; it has go and go-reused-timer\n", *system)
		os.Exit(2)
	}
	if err := serve(os.Stdin, os.Stdout, *system, cells); err != nil {
		fmt.Fprintln(os.Stderr, "peer-go:", err)
		os.Exit(1)
	}
}
