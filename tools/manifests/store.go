package main

import "fmt"

// checkStore: a StatefulSet keeps copies apart, is found by name, and never loses two at once.
func checkStore(set object, objects []object) []string {
	var problems []string
	pod := set.Spec.Template.Spec
	if !pod.SecurityContext.RunAsNonRoot {
		problems = append(problems, "may run as root")
	}
	if set.Spec.Replicas < 3 || set.Spec.Replicas%2 == 0 {
		problems = append(problems, fmt.Sprintf("%d replicas are no good majority", set.Spec.Replicas))
	}
	if len(pod.Affinity.PodAntiAffinity.Required) == 0 {
		problems = append(problems, "two copies may lie on one machine")
	}
	if len(set.Spec.VolumeClaimTemplates) == 0 {
		problems = append(problems, "keeps nothing: no volumeClaimTemplates")
	}
	for _, c := range pod.Containers {
		if c.StartupProbe == nil || c.LivenessProbe == nil || c.ReadinessProbe == nil {
			problems = append(problems, "a probe is missing")
		}
		problems = append(problems, checkSize(c)...)
		problems = append(problems, checkPrivileges(c)...)
	}
	budget, headless := false, false
	for _, o := range objects {
		switch {
		case o.Kind == "PodDisruptionBudget" && o.selects(set.Spec.Template):
			budget = fmt.Sprint(o.Spec.MaxUnavailable) == "1"
		case o.Kind == "Service" && o.Metadata.Name == set.Spec.ServiceName:
			headless = o.Spec.ClusterIP == "None" && o.selects(set.Spec.Template)
		}
	}
	if !budget {
		problems = append(problems, "no PodDisruptionBudget with maxUnavailable 1")
	}
	if !headless {
		problems = append(problems, fmt.Sprintf("serviceName %q is no headless Service of its pods", set.Spec.ServiceName))
	}
	return problems
}
