package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check has a line for every rule that is broken.
func check(objects []object) []string {
	var problems []string
	seen := map[string]bool{}
	for _, o := range objects {
		if o.Kind == "StatefulSet" {
			for _, problem := range checkStore(o, objects) {
				problems = append(problems, "StatefulSet "+o.Metadata.Name+": "+problem)
			}
		}
		if o.Kind != "Deployment" {
			continue
		}
		seen[o.Metadata.Name] = true
		for _, problem := range slices.Concat(checkRollout(o), checkContainers(o), checkCompanions(o, objects)) {
			problems = append(problems, "Deployment "+o.Metadata.Name+": "+problem)
		}
	}
	for name := range signals {
		if !seen[name] {
			problems = append(problems, "no Deployment "+name)
		}
	}
	slices.Sort(problems)
	return problems
}

// checkRollout: a rollout takes no pod away before its successor is ready, and a pod has the time
// to drain and to stop.
func checkRollout(deployment object) []string {
	var problems []string
	if unavailable := deployment.Spec.Strategy.RollingUpdate.MaxUnavailable; fmt.Sprint(unavailable) != "0" {
		problems = append(problems, fmt.Sprintf("maxUnavailable is %v, not 0", unavailable))
	}
	pod := deployment.Spec.Template.Spec
	for _, c := range pod.Containers {
		drain, derr := time.ParseDuration(c.env("TRIPTYCH_DRAIN_DELAY"))
		stop, serr := time.ParseDuration(c.env("TRIPTYCH_STOP_TIMEOUT"))
		if derr != nil || serr != nil || drain <= 0 {
			problems = append(problems, "TRIPTYCH_DRAIN_DELAY and TRIPTYCH_STOP_TIMEOUT must be set")
			continue
		}
		grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second
		if grace <= drain+stop {
			problems = append(problems, fmt.Sprintf("is killed after %s but drains and stops for %s", grace, drain+stop))
		}
	}
	return problems
}

// checkContainers: probes, sizes and privileges.
func checkContainers(deployment object) []string {
	pod := deployment.Spec.Template.Spec
	var problems []string
	if !pod.SecurityContext.RunAsNonRoot {
		problems = append(problems, "may run as root")
	}
	for _, c := range pod.Containers {
		problems = append(problems, checkProbe("startupProbe", c.StartupProbe, "/livez")...)
		problems = append(problems, checkProbe("livenessProbe", c.LivenessProbe, "/livez")...)
		problems = append(problems, checkProbe("readinessProbe", c.ReadinessProbe, "/readyz")...)
		problems = append(problems, checkSize(c)...)
		problems = append(problems, checkPrivileges(c)...)
	}
	return problems
}

func checkPrivileges(c container) []string {
	s := c.SecurityContext
	if !s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Contains(s.Capabilities.Drop, "ALL") {
		return []string{"container has more privileges than it needs"}
	}
	return nil
}

func checkProbe(name string, p *probe, path string) []string {
	if p == nil || p.HTTPGet.Path != path || p.HTTPGet.Port != "admin" {
		return []string{fmt.Sprintf("%s must ask %s on the port admin", name, path)}
	}
	return nil
}

// checkSize: the scheduler knows what a pod needs, and the collector of garbage starts to work
// before the kernel kills.
func checkSize(c container) []string {
	var problems []string
	for _, name := range []string{"cpu", "memory"} {
		if c.Resources.Requests[name] == "" {
			problems = append(problems, "requests no "+name)
		}
	}
	limit, lerr := mebibytes(c.Resources.Limits["memory"])
	golimit, gerr := mebibytes(strings.TrimSuffix(c.env("GOMEMLIMIT"), "B"))
	if lerr != nil || gerr != nil {
		return append(problems, "memory limit and GOMEMLIMIT must be whole Mi or Gi")
	}
	if golimit >= limit {
		problems = append(problems, fmt.Sprintf("GOMEMLIMIT %d Mi leaves nothing of the limit of %d Mi", golimit, limit))
	}
	return problems
}

// mebibytes reads a quantity such as 512Mi or 2Gi.
func mebibytes(quantity string) (int, error) {
	if number, ok := strings.CutSuffix(quantity, "Gi"); ok {
		n, err := strconv.Atoi(number)
		return n * 1024, err
	}
	return strconv.Atoi(strings.TrimSuffix(quantity, "Mi"))
}

// checkCompanions: each Deployment has its Service, one autoscaler and a disruption budget.
func checkCompanions(deployment object, objects []object) []string {
	name := deployment.Metadata.Name
	var problems []string
	found := map[string]bool{}
	scalers := 0
	for _, o := range objects {
		switch {
		case o.Kind == "Service" && o.selects(deployment.Spec.Template):
			found[o.Kind] = true
			// Inference is balanced per request by the gateway, which needs every address.
			if headless := o.Spec.ClusterIP == "None"; headless != (name != "gateway") {
				problems = append(problems, fmt.Sprintf("Service %s: headless is %t", o.Metadata.Name, headless))
			}
		case o.Kind == "PodDisruptionBudget" && o.selects(deployment.Spec.Template):
			found[o.Kind] = true
		case o.scales(name):
			scalers++
			problems = append(problems, checkAutoscaler(name, o)...)
		}
	}
	if scalers != 1 {
		problems = append(problems, fmt.Sprintf("%d autoscalers", scalers))
	}
	for _, kind := range []string{"Service", "PodDisruptionBudget"} {
		if !found[kind] {
			problems = append(problems, "no "+kind)
		}
	}
	return problems
}
