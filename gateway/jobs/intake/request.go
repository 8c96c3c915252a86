package intake

import (
	"context"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
)

// AcceptRequest stores a request of the Open Inference Protocol as a job of one item.
// It is checked as a model server would check it.
func (in *Intake) AcceptRequest(ctx context.Context, ask Ask, req *inference.ModelInferRequest) (*pb.Job, error) {
	model, version := req.GetModelName(), req.GetModelVersion()
	cfg, err := in.config(ctx, model, version)
	if err != nil {
		return nil, err
	}
	if _, err := oip.MakeRaw(req); err != nil {
		return nil, err
	}
	if _, err := oip.Check(req, cfg); err != nil {
		return nil, err
	}
	plan, err := jobs.PlanOf(cfg, version)
	if err != nil {
		return nil, err
	}
	ask.Settings = map[string][]string{"model": {model}}
	if version != "" {
		ask.Settings["version"] = []string{version}
	}
	return in.accept(ctx, ask, &target{plan: plan}, func(d *draft) error { return d.request(req) })
}

// request takes a whole request as an item.
func (d *draft) request(req *inference.ModelInferRequest) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the request can't be written")
	}
	item, err := d.next(req.GetId())
	if err != nil {
		return err
	}
	d.bytes = int64(len(data))
	if d.sum != nil {
		_, _ = d.sum.Write(data)
	}
	switch {
	case d.repeated:
		return nil
	case len(data) <= d.inline:
		item.Input = &pb.Item_Request{Request: req}
	default:
		d.blobs.items = append(d.blobs.items, item.GetIndex())
		blob, err := d.in.store.Connection().PutBlob(d.ctx, stream.Blobs, jobs.InputBlob(d.id, item.GetIndex()), data)
		if err != nil {
			return d.reason(err)
		}
		item.Input = &pb.Item_RequestBlob{RequestBlob: blob}
	}
	return d.put(item, nil)
}
