package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// node is a span that must be there, with what must lie directly below it.
type node struct {
	service, name string
	below         []node
}

// infer is the name that gRPC instrumentation gives to the server's span.
const infer = "inference.GRPCInferenceService/ModelInfer"

// classification is the tree of one POST /v1/classify through the default ensemble.
var classification = node{"gateway", "POST /v1/classify", []node{
	{"gateway", "ensemble classify", []node{
		{"gateway", "step imagenet_preprocess", []node{
			{"preprocess", infer, []node{
				{"preprocess", "decode", nil},
				{"preprocess", "transform", nil},
			}},
		}},
		{"gateway", "step efficientnet_lite0", []node{
			{"predictor", infer, []node{
				{"predictor", "queue", nil},
				{"predictor", "run", nil},
			}},
		}},
		{"gateway", "step imagenet_postprocess", []node{
			{"postprocess", infer, []node{
				{"postprocess", "top_k", nil},
			}},
		}},
	}},
}}

// item is the tree of one item of a job through the same ensemble: what a service takes from its
// queue is one span, wherever the gateway was meanwhile.
var item = node{"gateway", "job item", []node{
	{"preprocess", "process imagenet_preprocess", []node{
		{"preprocess", "decode", nil},
		{"preprocess", "transform", nil},
	}},
	{"predictor", "process efficientnet_lite0", []node{
		{"predictor", "queue", nil},
		{"predictor", "run", nil},
	}},
	{"postprocess", "process imagenet_postprocess", []node{
		{"postprocess", "top_k", nil},
	}},
}}

// trees are what a trace can be asked to be.
var trees = map[string]node{"classify": classification, "job": item}

// check finds the tree among the spans, from its root, which has no parent.
func check(spans []span, want node) error {
	children := map[string][]span{}
	for _, s := range spans {
		if err := checkLinks(s); err != nil {
			return err
		}
		children[s.Parent] = append(children[s.Parent], s)
	}
	return find(children, "", want, nil)
}

// checkLinks refuses a link of a span to itself or to its parent. Of the latter Jaeger keeps the
// link alone, so that the span seems to have no parent.
func checkLinks(s span) error {
	for _, link := range s.Links {
		if link == s.ID || link == s.Parent || s.Parent == "" {
			return fmt.Errorf("span %q of %s is linked to itself or to its parent", s.Name, s.Service)
		}
	}
	return nil
}

// find looks for a node and all below it among the children of a span.
func find(children map[string][]span, parent string, want node, path []string) error {
	missing := fmt.Errorf("no span %s below %s", want, strings.Join(append([]string{"the root"}, path...), " > "))
	for _, s := range children[parent] {
		if s.Service != want.service || s.Name != want.name {
			continue
		}
		err := findAll(children, s, want.below, append(slices.Clone(path), s.Name))
		if err == nil {
			return nil
		}
		missing = err
	}
	return missing
}

func findAll(children map[string][]span, parent span, want []node, path []string) error {
	for _, below := range want {
		if err := find(children, parent.ID, below, path); err != nil {
			return err
		}
	}
	return nil
}

// String names the node for a message.
func (n node) String() string {
	return fmt.Sprintf("%q of %s", n.name, n.service)
}

// draw prints the trace as it is, roots first, children by start.
func draw(w io.Writer, spans []span) {
	known := map[string]bool{"": true}
	children := map[string][]span{}
	for _, s := range spans {
		known[s.ID] = true
	}
	for _, s := range spans {
		if !known[s.Parent] {
			s.Parent = ""
		}
		children[s.Parent] = append(children[s.Parent], s)
	}
	drawBelow(w, children, "", 0)
}

func drawBelow(w io.Writer, children map[string][]span, parent string, depth int) {
	ordered := slices.Clone(children[parent])
	slices.SortFunc(ordered, func(a, b span) int { return cmp.Compare(a.Start, b.Start) })
	for _, s := range ordered {
		label := strings.Repeat("  ", depth) + s.Name
		fmt.Fprintf(w, "  %-12s %-56s %9.3f ms\n", s.Service, label, float64(s.Micros)/1000)
		drawBelow(w, children, s.ID, depth+1)
	}
}
