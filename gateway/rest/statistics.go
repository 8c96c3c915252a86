package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
)

// The documents below always have every field: Triton's tools stop at the first
// that is absent.

type statisticsDocument struct {
	Models []modelStatistics `json:"model_stats"`
}

type modelStatistics struct {
	Name           string                        `json:"name"`
	Version        string                        `json:"version"`
	LastInference  uint64                        `json:"last_inference"`
	InferenceCount uint64                        `json:"inference_count"`
	ExecutionCount uint64                        `json:"execution_count"`
	Inference      inferenceStatistics           `json:"inference_stats"`
	Responses      map[string]responseStatistics `json:"response_stats"`
	Batches        []batchStatistics             `json:"batch_stats"`
	Memory         []memoryUsage                 `json:"memory_usage"`
}

type duration struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

type inferenceStatistics struct {
	Success       duration `json:"success"`
	Fail          duration `json:"fail"`
	Queue         duration `json:"queue"`
	ComputeInput  duration `json:"compute_input"`
	ComputeInfer  duration `json:"compute_infer"`
	ComputeOutput duration `json:"compute_output"`
	CacheHit      duration `json:"cache_hit"`
	CacheMiss     duration `json:"cache_miss"`
}

type responseStatistics struct {
	ComputeInfer  duration `json:"compute_infer"`
	ComputeOutput duration `json:"compute_output"`
	Success       duration `json:"success"`
	Fail          duration `json:"fail"`
	EmptyResponse duration `json:"empty_response"`
	Cancel        duration `json:"cancel"`
}

type batchStatistics struct {
	BatchSize     uint64   `json:"batch_size"`
	ComputeInput  duration `json:"compute_input"`
	ComputeInfer  duration `json:"compute_infer"`
	ComputeOutput duration `json:"compute_output"`
}

type memoryUsage struct {
	Type     string `json:"type"`
	ID       int64  `json:"id"`
	ByteSize uint64 `json:"byte_size"`
}

func (a *API) statistics(c *gin.Context) error {
	req := &inference.ModelStatisticsRequest{}
	if len(c.Params) > 0 {
		var err error
		if req.Name, req.Version, err = target(c); err != nil {
			return err
		}
	}
	resp, err := a.server.ModelStatistics(c.Request.Context(), req)
	if err != nil {
		return web.Failure(err)
	}
	doc := statisticsDocument{Models: make([]modelStatistics, 0, len(resp.GetModelStats()))}
	for _, s := range resp.GetModelStats() {
		doc.Models = append(doc.Models, statisticsOf(s))
	}
	return web.JSON(c, http.StatusOK, doc)
}

func statisticsOf(s *inference.ModelStatistics) modelStatistics {
	doc := modelStatistics{
		Name: s.GetName(), Version: s.GetVersion(),
		LastInference: s.GetLastInference(), InferenceCount: s.GetInferenceCount(), ExecutionCount: s.GetExecutionCount(),
		Inference: inferenceOf(s.GetInferenceStats()),
		Responses: make(map[string]responseStatistics, len(s.GetResponseStats())),
		Batches:   make([]batchStatistics, 0, len(s.GetBatchStats())),
		Memory:    make([]memoryUsage, 0, len(s.GetMemoryUsage())),
	}
	for key, r := range s.GetResponseStats() {
		doc.Responses[key] = responseStatistics{
			durationOf(r.GetComputeInfer()), durationOf(r.GetComputeOutput()), durationOf(r.GetSuccess()),
			durationOf(r.GetFail()), durationOf(r.GetEmptyResponse()), durationOf(r.GetCancel()),
		}
	}
	for _, b := range s.GetBatchStats() {
		doc.Batches = append(doc.Batches, batchStatistics{
			b.GetBatchSize(), durationOf(b.GetComputeInput()), durationOf(b.GetComputeInfer()), durationOf(b.GetComputeOutput()),
		})
	}
	for _, m := range s.GetMemoryUsage() {
		doc.Memory = append(doc.Memory, memoryUsage{m.GetType(), m.GetId(), m.GetByteSize()})
	}
	return doc
}

func inferenceOf(s *inference.InferStatistics) inferenceStatistics {
	return inferenceStatistics{
		Success: durationOf(s.GetSuccess()), Fail: durationOf(s.GetFail()), Queue: durationOf(s.GetQueue()),
		ComputeInput: durationOf(s.GetComputeInput()), ComputeInfer: durationOf(s.GetComputeInfer()), ComputeOutput: durationOf(s.GetComputeOutput()),
		CacheHit: durationOf(s.GetCacheHit()), CacheMiss: durationOf(s.GetCacheMiss()),
	}
}

func durationOf(d *inference.StatisticDuration) duration { return duration{d.GetCount(), d.GetNs()} }
