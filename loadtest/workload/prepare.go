package workload

import (
	"errors"
	"fmt"
	"io"

	"triptych/loadtest/sample"
	"triptych/loadtest/target"
	"triptych/loadtest/verify"
	"triptych/shared/failure"
)

// prepare makes one sort.
func prepare(spec Spec, seed uint64) (*sort, error) {
	if spec.Target.Timeout == 0 {
		spec.Target.Timeout = spec.Deadline
	}
	if spec.Tensor != "" {
		return tensors(spec, seed)
	}
	images, err := sample.Read(spec.Images...)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(images))
	for i, image := range images {
		names[i] = image.Name
	}
	checks, err := checks(spec, names)
	if err != nil {
		return nil, err
	}
	if spec.JobItems > 0 {
		return job(spec, images, checks)
	}
	made, err := target.New(spec.Target, images)
	if err != nil {
		return nil, err
	}
	checked := verify.With(made, checks...)
	return &sort{spec: spec, target: checked, try: checked, close: made, items: len(images)}, nil
}

func tensors(spec Spec, seed uint64) (*sort, error) {
	if spec.JobItems > 0 || spec.Expected != "" || spec.Consistent {
		return nil, failure.New(failure.Invalid, "tensors are sent one by one and have no labels that could be checked")
	}
	form, err := sample.ParseTensor(spec.Tensor, spec.Batch)
	if err != nil {
		return nil, err
	}
	contents, err := sample.Tensors(form, spec.Contents, seed)
	if err != nil {
		return nil, err
	}
	made, err := target.NewTensors(spec.Target, contents, nil)
	if err != nil {
		return nil, err
	}
	return &sort{spec: spec, target: made, try: made, close: made, items: len(contents)}, nil
}

func job(spec Spec, images []sample.Image, checks []verify.Check) (*sort, error) {
	made, err := target.NewJobs(spec.Target, images, spec.JobItems, target.Judge(verify.All(checks...)))
	if err != nil {
		return nil, err
	}
	// A whole job may take longer than anybody would wait for a first answer.
	small, err := target.NewJobs(spec.Target, images, 1, nil)
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return &sort{spec: spec, target: made, try: small, close: both{made, small}, items: len(images)}, nil
}

// both are closed together.
type both [2]io.Closer

// Close closes both.
func (b both) Close() error { return errors.Join(b[0].Close(), b[1].Close()) }

func checks(spec Spec, names []string) ([]verify.Check, error) {
	var list []verify.Check
	if spec.Expected != "" {
		want, err := verify.ReadExpected(spec.Expected, spec.ExpectedVersion, names)
		if err != nil {
			return nil, err
		}
		list = append(list, verify.First(names, want))
	}
	if spec.Consistent {
		list = append(list, verify.Same(names))
	}
	return list, nil
}

// describe is a sort in a line.
func describe(s Spec, items int) string {
	what := fmt.Sprintf("%d images", items)
	switch {
	case s.Tensor != "":
		what = TensorText(s, items)
	case s.JobItems > 0:
		what = fmt.Sprintf("jobs of %d out of %d images", s.JobItems, items)
	}
	model := s.Target.Model
	if s.Target.Version != "" {
		model += " version " + s.Target.Version
	}
	text := fmt.Sprintf("%s to %s, model %s, %s", s.Target.Protocol, target.Address(s.Target), model, what)
	if s.Target.Priority > 0 {
		text += fmt.Sprintf(", priority %d", s.Target.Priority)
	}
	if s.Deadline > 0 {
		text += fmt.Sprintf(", deadline %s", s.Deadline)
	}
	if s.Target.Tenant != "" {
		text += ", tenant " + s.Target.Tenant
	}
	if s.Expected != "" {
		text += fmt.Sprintf(", checked against %s version %s", s.Expected, s.ExpectedVersion)
	}
	return text
}

// TensorText says what tensors are sent.
func TensorText(s Spec, items int) string {
	return fmt.Sprintf("%d tensors %s with a batch of %d", items, s.Tensor, s.Batch)
}
