package scrape

import (
	"context"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// grpcServer asks by gRPC.
type grpcServer struct {
	conn   *grpc.ClientConn
	client inference.GRPCInferenceServiceClient
}

func newGRPC(address string) (*grpcServer, error) {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "%q is no address", address)
	}
	return &grpcServer{conn: conn, client: inference.NewGRPCInferenceServiceClient(conn)}, nil
}

func (s *grpcServer) statistics(ctx context.Context) ([]*inference.ModelStatistics, error) {
	resp, err := s.client.ModelStatistics(ctx, &inference.ModelStatisticsRequest{})
	if err != nil {
		return nil, failure.FromStatus(err, s.conn.Target())
	}
	return resp.GetModelStats(), nil
}

func (s *grpcServer) ensemble(ctx context.Context, model, version string) ([]string, error) {
	resp, err := s.client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: model, Version: version})
	if err != nil {
		return nil, failure.FromStatus(err, s.conn.Target())
	}
	return steps(resp.GetConfig()), nil
}

// steps are the models of an ensemble.
func steps(config *inference.ModelConfig) []string {
	list := config.GetEnsembleScheduling().GetStep()
	names := make([]string, len(list))
	for i, step := range list {
		names[i] = step.GetModelName()
	}
	return names
}

func (s *grpcServer) close() error { return s.conn.Close() }

// restServer asks by REST.
type restServer struct {
	base   string
	client *client
}

func (s *restServer) statistics(ctx context.Context) ([]*inference.ModelStatistics, error) {
	var resp inference.ModelStatisticsResponse
	if err := s.read(ctx, "/v2/models/stats", &resp, "statistics"); err != nil {
		return nil, err
	}
	return resp.GetModelStats(), nil
}

func (s *restServer) ensemble(ctx context.Context, model, version string) ([]string, error) {
	path := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		path += "/versions/" + url.PathEscape(version)
	}
	var config inference.ModelConfig
	if err := s.read(ctx, path+"/config", &config, "configuration"); err != nil {
		return nil, err
	}
	return steps(&config), nil
}

// read gets a message in JSON, which an error calls what.
func (s *restServer) read(ctx context.Context, path string, to proto.Message, what string) error {
	body, err := s.client.get(ctx, s.base+path)
	if err != nil {
		return err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, to); err != nil {
		return failure.Wrap(err, failure.Internal, "the %s can't be read", what)
	}
	return nil
}

func (s *restServer) close() error { return nil } // the probe closes the client
