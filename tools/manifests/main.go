// Command manifests checks rendered Kubernetes manifests against what a schema cannot say: that
// every Deployment can be rolled, drained, scaled and sized without losing a request. The schema
// itself is kubectl-validate's part.
//
//	manifests FILE
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "manifests: name one file")
		return 2
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "manifests:", err)
		return 2
	}
	objects, err := parse(content)
	if err != nil {
		fmt.Fprintf(stderr, "manifests: %s: %v\n", args[0], err)
		return 2
	}
	problems := check(objects)
	for _, problem := range problems {
		fmt.Fprintf(stderr, "%s: %s\n", args[0], problem)
	}
	if len(problems) > 0 {
		return 1
	}
	fmt.Fprintf(stdout, "%s: %d objects in order\n", args[0], len(objects))
	return 0
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// parse reads the documents of a YAML stream.
func parse(content []byte) ([]object, error) {
	var objects []object
	for _, document := range separator.Split(string(content), -1) {
		if len(bytes.TrimSpace([]byte(document))) == 0 {
			continue
		}
		var one object
		if err := yaml.Unmarshal([]byte(document), &one); err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		objects = append(objects, one)
	}
	return objects, nil
}
