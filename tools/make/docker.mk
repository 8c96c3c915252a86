##@ Ship it

.PHONY: image
image: ## Build the four container images
	@TRIPTYCH_VERSION=$(VERSION) docker compose build gateway preprocess predictor postprocess

.PHONY: test-compose
test-compose: $(TOOLS)/tracecheck ## Start the compose stack, classify, check the trace in Jaeger, stop
	@TRIPTYCH_VERSION=test tools/test-compose.sh
