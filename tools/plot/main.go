// Command plot draws what the benchmark of the predictor found: latency and batch size over
// load, ours and the rival's.
//
//	plot [-output FILE.svg] [-rival NAME] REPORT.json
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run draws and returns the exit status.
func run(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("plot", flag.ContinueOnError)
	fs.SetOutput(stderr)
	output := fs.String("output", "batching.svg", "the `FILE` to write")
	rival := fs.String("rival", "Triton", "what the other side is called")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if err := plotFile(fs.Args(), *output, *rival); err != nil {
		fmt.Fprintln(stderr, "plot:", err)
		return 1
	}
	return 0
}

func plotFile(args []string, output, rival string) error {
	if len(args) != 1 {
		return errors.New("name one report of bench-predictor")
	}
	points, err := read(args[0])
	if err != nil {
		return err
	}
	svg, err := chart(points, map[string]string{"ours": "Triptych", "rival": rival})
	if err != nil {
		return err
	}
	return os.WriteFile(output, svg, 0o644)
}
