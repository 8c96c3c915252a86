// Command plot draws what a benchmark found, ours and the rival's: latency and batch size of
// the predictor over load, or throughput and latency of the whole chain.
//
//	plot [-kind batching|chain] [-output FILE.svg] [-rival NAME] REPORT.json
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
	kind := fs.String("kind", batching, "what the report is of: "+batching+" or "+chain)
	output := fs.String("output", "batching.svg", "the `FILE` to write")
	rival := fs.String("rival", "Triton", "what the other side is called")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if err := plotFile(fs.Args(), *kind, *output, *rival); err != nil {
		fmt.Fprintln(stderr, "plot:", err)
		return 1
	}
	return 0
}

// The kinds of reports.
const (
	batching = "batching"
	chain    = "chain"
)

func plotFile(args []string, kind, output, rival string) error {
	if len(args) != 1 {
		return errors.New("name one report of a benchmark")
	}
	var svg []byte
	var err error
	switch kind {
	case batching:
		svg, err = batchingChart(args[0], rival)
	case chain:
		svg, err = chainChart(args[0], rival)
	default:
		err = fmt.Errorf("there is no kind %q", kind)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(output, svg, 0o644)
}

func batchingChart(file, rival string) ([]byte, error) {
	points, err := read(file)
	if err != nil {
		return nil, err
	}
	return chart(points, map[string]string{"ours": "Triptych", "rival": rival})
}
