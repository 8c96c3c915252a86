package webhook

import (
	"context"
	"strconv"

	pb "triptych/proto/jobs"
)

// Jobs calls the callbacks of jobs.
type Jobs struct {
	Caller *Caller
	// Document is what is told of a job: its status.
	Document func(*pb.Job) ([]byte, error)
}

// Call tells the job's callback that it has ended. See Caller.Call for the errors.
func (j Jobs) Call(ctx context.Context, job *pb.Job) error {
	body, err := j.Document(job)
	if err != nil {
		return err
	}
	return j.Caller.Call(ctx, ID(job), job.GetCallbackUrl(), body)
}

// ID is the webhook-id of a job's end. It is the same for each try. A job that is
// opened again, and ends again, has another: that is news.
func ID(job *pb.Job) string {
	return job.GetId() + "-" + strconv.FormatInt(job.GetEndedMs(), 10)
}
