package board

import pb "triptych/proto/jobs"

// maxPlans bounds the plans that are kept once for all jobs that have them.
const maxPlans = 256

// plans lets the jobs of one model have one copy of its plan between them: it is
// most of a record.
type plans map[string][]byte

func (p plans) share(job *pb.Job) {
	known := p[string(job.GetPlan())]
	if known == nil {
		if len(p) >= maxPlans {
			clear(p)
		}
		known = job.GetPlan()
		p[string(known)] = known
	}
	job.Plan = known
}
