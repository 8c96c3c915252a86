##@ Measure it

# Flags of the benchmark, such as --rounds 1 --window 3s --rows 1,2 --strict.
BENCH_FLAGS ?=

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
bench-plot: $(TOOLS)/plot ## Draw docs/img/batching.svg from what bench-predictor found
	@mkdir -p docs/img
	@$(TOOLS)/plot -output docs/img/batching.svg coverage/bench-predictor.json

.PHONY: resize-pictures
resize-pictures: setup build ## Draw docs/img/resize-*.png with triptych preprocess
	@tools/resize-pictures.sh
