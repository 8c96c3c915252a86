package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// signals has the metric that each service scales on.
var signals = map[string]string{
	"gateway":     "cpu",
	"preprocess":  "cpu",
	"predictor":   "nv_inference_pending_request_count",
	"postprocess": "cpu",
}

const (
	// lag is what a stage that KEDA scales must look at too.
	lag = "triptych_jobs_lag"
	// ackWait is --jobs-ack-wait: so long the tasks of a pod that died count as waiting.
	ackWait = 30 * time.Second
)

// scales tells whether the object is what scales a Deployment.
func (o object) scales(deployment string) bool {
	target := o.Spec.ScaleTargetRef
	switch o.Kind {
	case "HorizontalPodAutoscaler":
		return target.Kind == "Deployment" && target.Name == deployment
	case "ScaledObject":
		return (target.Kind == "" || target.Kind == "Deployment") && target.Name == deployment
	}
	return false
}

// checkAutoscaler: it goes from two pods to more, on the signal of its service.
func checkAutoscaler(deployment string, o object) []string {
	if o.Kind == "ScaledObject" {
		return checkScaled(deployment, o)
	}
	problems := checkRange(o.Spec.MinReplicas, o.Spec.MaxReplicas)
	want := signals[deployment]
	scalesOn := func(m metric) bool { return m.Resource.Name == want || m.Pods.Metric.Name == want }
	if want != "" && !slices.ContainsFunc(o.Spec.Metrics, scalesOn) {
		problems = append(problems, "autoscaler does not look at "+want)
	}
	return problems
}

func checkRange(least, most int) []string {
	if least < 2 || most <= least {
		return []string{fmt.Sprintf("autoscaler goes from %d to %d", least, most)}
	}
	return nil
}

// checkScaled: KEDA looks at the same signal and at what jobs wait for, and does not take pods
// away while the tasks of one that died wait for their next delivery.
func checkScaled(deployment string, o object) []string {
	problems := checkRange(o.Spec.MinReplicaCount, o.Spec.MaxReplicaCount)
	for _, want := range []string{signals[deployment], lag} {
		scalesOn := func(t trigger) bool { return t.Type == want || strings.Contains(t.Metadata["query"], want) }
		if want != "" && !slices.ContainsFunc(o.Spec.Triggers, scalesOn) {
			problems = append(problems, "autoscaler does not look at "+want)
		}
	}
	for _, t := range o.Spec.Triggers {
		if t.Type == "prometheus" && t.Metadata["ignoreNullValues"] != "false" {
			problems = append(problems, "autoscaler takes the absence of figures for no work")
		}
	}
	behavior := o.Spec.Advanced.HorizontalPodAutoscalerConfig.Behavior
	if calm := min(o.Spec.CooldownPeriod, behavior.ScaleDown.StabilizationWindowSeconds); calm <= int(ackWait.Seconds()) {
		problems = append(problems, fmt.Sprintf("autoscaler gives pods back after %d s, within the ack wait of %s", calm, ackWait))
	}
	return problems
}
