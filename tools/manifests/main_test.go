package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun breaks one rule at a time in manifests that keep all of them.
func TestRun(t *testing.T) {
	good := services(t)
	tests := []struct {
		name, from, to string
		output         string
	}{
		{"pods taken away early", "maxUnavailable: 0", "maxUnavailable: 1", "maxUnavailable is 1, not 0"},
		{"killed while draining", "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 30", "is killed after 30s but drains and stops for 35s"},
		{"no drain", "value: 10s", "value: 0s", "TRIPTYCH_DRAIN_DELAY"},
		{"liveness asks readiness", "path: /livez", "path: /readyz", "livenessProbe must ask /livez"},
		{"no memory request", "memory: 256Mi", "ephemeral-storage: 256Mi", "requests no memory"},
		{"garbage collected too late", "value: 900MiB", "value: 1GiB", "GOMEMLIMIT 1024 Mi leaves nothing"},
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "may run as root"},
		{"capabilities", "- ALL", "- NET_RAW", "more privileges than it needs"},
		{"balanced by the cluster", "clusterIP: None", "clusterIP: 10.0.0.1", "headless is false"},
		{"autoscaler of nothing", "    kind: Deployment\n    name: predictor", "    kind: Deployment\n    name: gone", "0 autoscalers"},
		{"autoscaler that cannot scale", "maxReplicas: 10", "maxReplicas: 2", "goes from 2 to 2"},
		{"wrong signal", "name: nv_inference_pending_request_count", "name: cpu_of_something", "does not look at nv_inference_pending_request_count"},
		{"no budget", "kind: PodDisruptionBudget", "kind: ConfigMap", "no PodDisruptionBudget"},
		{"service gone", "kind: Deployment\nmetadata:\n  name: predictor", "kind: StatefulSet\nmetadata:\n  name: predictor", "no Deployment predictor"},
		{"two autoscalers", "kind: Deployment\n    name: gateway", "kind: Deployment\n    name: predictor", "predictor: 2 autoscalers"},
		{"two copies on one machine", "requiredDuringScheduling", "preferredDuringScheduling", "two copies may lie on one machine"},
		{"no majority", "replicas: 3", "replicas: 2", "2 replicas are no good majority"},
		{"no volume", "volumeClaimTemplates:\n    - metadata:\n        name: data", "volumeClaimTemplates: []", "keeps nothing"},
		{"servers that cannot be found", "serviceName: store-headless", "serviceName: store", "is no headless Service of its pods"},
		{"a probe less", "startupProbe: {}", "volumeMounts: []", "a probe is missing"},
		{"not YAML", "kind: Service", "kind: [", "manifests:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(good, test.from) {
				t.Fatalf("nothing to break: no %q", test.from)
			}
			status, output := runOn(t, strings.ReplaceAll(good, test.from, test.to))
			if status == 0 || !strings.Contains(output, test.output) {
				t.Errorf("status %d, output has no %q:\n%s", status, test.output, output)
			}
		})
	}
	t.Run("good", func(t *testing.T) {
		status, output := runOn(t, good)
		if status != 0 || !strings.Contains(output, "objects in order") {
			t.Errorf("status %d:\n%s", status, output)
		}
	})
}

// TestScaled does the same with the predictor scaled by KEDA.
func TestScaled(t *testing.T) {
	scaled, err := os.ReadFile(filepath.Join("testdata", "scaled.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The autoscaler of the base goes, as the component does it.
	base := strings.Replace(services(t), "kind: Deployment\n    name: predictor", "kind: Gone\n    name: predictor", 1)
	tests := []struct{ name, from, to, output string }{
		{"good", "", "", "objects in order"},
		{"no jobs", "triptych_jobs_lag", "triptych_jobs", "does not look at triptych_jobs_lag"},
		{"no sync road", "nv_inference_pending_request_count", "up", "does not look at nv_inference_pending_request_count"},
		{"figures gone", `ignoreNullValues: "false"`, `ignoreNullValues: "true"`, "takes the absence of figures for no work"},
		{"given back early", "cooldownPeriod: 300", "cooldownPeriod: 30", "gives pods back after 30 s"},
		{"down to one", "minReplicaCount: 2", "minReplicaCount: 1", "goes from 1 to 10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, output := runOn(t, base+"\n---\n"+strings.ReplaceAll(string(scaled), test.from, test.to))
			if (status == 0) != (test.name == "good") || !strings.Contains(output, test.output) {
				t.Errorf("status %d, output has no %q:\n%s", status, test.output, output)
			}
		})
	}
}

// services has the manifests of all four, of which the gateway's Service alone has an address, and
// of a store.
func services(t *testing.T) string {
	t.Helper()
	one, err := os.ReadFile(filepath.Join("testdata", "service.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name := range signals {
		manifests := strings.ReplaceAll(string(one), "SERVICE", name)
		if name == "gateway" {
			manifests = strings.ReplaceAll(manifests, "clusterIP: None", "clusterIP: 10.1.1.1")
		}
		all = append(all, manifests)
	}
	store, err := os.ReadFile(filepath.Join("testdata", "store.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(all, string(store)), "---\n")
}

func runOn(t *testing.T, manifests string) (int, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rendered.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	return run([]string{file}, &output, &output), output.String()
}
