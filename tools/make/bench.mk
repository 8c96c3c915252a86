##@ Measure it

# Flags of the benchmark, such as --rounds 1 --window 3s --rows 1,2 --strict.
BENCH_FLAGS ?=

# How long the soak is; its shares stay the same.
SOAK       ?= 30m
SOAK_FLAGS ?=

# The chain of row 5 is in the benchmark itself, so it is built as the services are.
.PHONY: bench
bench: setup build ## Measure the whole chain, in turn with RIVAL where one is given (docs/benchmarks.md)
	@mkdir -p coverage
	@go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $(TOOLS)/bench-chain ./loadtest/cmd/bench-chain
	@$(TOOLS)/bench-chain $(BENCH_FLAGS)

.PHONY: soak
soak: setup build ## Run the whole chain for SOAK (30m) while stages are killed and models swapped
	@mkdir -p coverage
	@go build -trimpath -o $(TOOLS)/soak ./loadtest/cmd/soak
	@$(TOOLS)/soak --duration '$(SOAK)' $(SOAK_FLAGS)

.PHONY: bench-go
bench-go: setup ## Run the Go benchmarks of every module
	@go test -run '^$$' -bench . -benchmem -tags '$(TAGS)' $(PACKAGES)

.PHONY: bench-predictor
bench-predictor: setup ## Measure the predictor, in turn with RIVAL where one is given (docs/benchmarks.md)
	@mkdir -p bin coverage
	@go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/predictor ./services/predictor/cmd/predictor
	@go build -trimpath -o $(TOOLS)/bench ./loadtest/cmd/bench
	@$(TOOLS)/bench $(BENCH_FLAGS)

.PHONY: bench-preprocess
bench-preprocess: setup ## Measure preprocess, in turn with Pillow from PyPI (docs/benchmarks.md)
	@mkdir -p bin coverage
	@go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/preprocess ./services/preprocess/cmd/preprocess
	@go build -trimpath -tags '$(TAGS)' -o $(TOOLS)/bench-preprocess ./loadtest/cmd/bench-preprocess
	@PILLOW=$$(tools/pillow.sh) $(TOOLS)/bench-preprocess $(BENCH_FLAGS)

.PHONY: bench-jobs
bench-jobs: setup build $(TOOLS)/nats-server ## Measure jobs beside the sync road, with a real NATS (docs/benchmarks.md)
	@mkdir -p coverage
	@go build -trimpath -o $(TOOLS)/bench-jobs ./loadtest/cmd/bench-jobs
	@$(TOOLS)/bench-jobs $(BENCH_FLAGS)

.PHONY: bench-plot
bench-plot: $(TOOLS)/plot ## Draw docs/img/chain.svg and batching.svg from what bench and bench-predictor found
	@mkdir -p docs/img
	@[ ! -f coverage/bench-chain.json ] || $(TOOLS)/plot -kind chain -output docs/img/chain.svg coverage/bench-chain.json
	@! grep -qs '"row": 2' coverage/bench-predictor.json || $(TOOLS)/plot -kind batching -output docs/img/batching.svg coverage/bench-predictor.json

.PHONY: resize-pictures
resize-pictures: setup build ## Draw docs/img/resize-*.png with triptych preprocess
	@tools/resize-pictures.sh
