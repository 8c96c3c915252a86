package main

// object is the union of the fields that are checked; each kind fills its own.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ClusterIP string
		// Of a Service this is a plain map, of the others a structure; both are kept open.
		Selector map[string]any
		Strategy struct {
			RollingUpdate struct{ MaxUnavailable any }
		}
		Template       template
		ScaleTargetRef struct{ Kind, Name string }
		MinReplicas    int
		MaxReplicas    int
		Metrics        []metric
		// Of a PodDisruptionBudget.
		MaxUnavailable any
		set
		scaled
	}
}

// set has the fields of a StatefulSet.
type set struct {
	Replicas             int
	ServiceName          string
	VolumeClaimTemplates []any
}

// scaled has the fields of KEDA's ScaledObject.
type scaled struct {
	MinReplicaCount int
	MaxReplicaCount int
	CooldownPeriod  int
	Triggers        []trigger
	Advanced        struct {
		HorizontalPodAutoscalerConfig struct {
			Behavior struct {
				ScaleDown struct{ StabilizationWindowSeconds int }
			}
		}
	}
}

type trigger struct {
	Type     string
	Metadata map[string]string
}

type template struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		TerminationGracePeriodSeconds int
		SecurityContext               struct{ RunAsNonRoot bool }
		Affinity                      struct {
			PodAntiAffinity struct {
				Required []any `json:"requiredDuringSchedulingIgnoredDuringExecution"`
			}
		}
		Containers []container
	}
}

type container struct {
	Name                                        string
	StartupProbe, LivenessProbe, ReadinessProbe *probe
	Resources                                   struct{ Requests, Limits map[string]string }
	SecurityContext                             security
	Env                                         []struct{ Name, Value string }
}

type probe struct {
	HTTPGet struct {
		Path string
		Port any
	}
}

type security struct {
	ReadOnlyRootFilesystem   bool
	AllowPrivilegeEscalation *bool
	Capabilities             struct{ Drop []string }
}

type metric struct {
	Type     string
	Resource struct{ Name string }
	Pods     struct{ Metric struct{ Name string } }
}

// env is the value of a container's variable.
func (c container) env(name string) string {
	for _, variable := range c.Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}

// labels are what a Service or a disruption budget selects by.
func (o object) labels() map[string]any {
	if nested, ok := o.Spec.Selector["matchLabels"].(map[string]any); ok {
		return nested
	}
	return o.Spec.Selector
}

// selects tells whether the object's selector takes the pods of a template.
func (o object) selects(pods template) bool {
	for label, value := range o.labels() {
		if pods.Metadata.Labels[label] != value {
			return false
		}
	}
	return len(o.labels()) > 0
}
