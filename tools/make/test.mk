PACKAGES = $(MODULES:%=./%/...)

##@ Check it

.PHONY: test
test: setup $(TOOLS)/gotestsum ## Run every module's tests with the race detector
	@cd tools && GOWORK=off go test ./...
	@$(TOOLS)/gotestsum --format pkgname -- -race -timeout 10m -tags '$(TAGS)' $(PACKAGES)

.PHONY: test-clients
test-clients: setup build ## Ask `triptych up` with the real tritonclient (and with PERF_ANALYZER)
	@tools/test-clients.sh

# How long each fuzz target runs: those of preprocess, and the others.
FUZZTIME        ?= 1m
FUZZTIME_OTHERS ?= 10s

.PHONY: fuzz
fuzz: setup ## Run every fuzz target, those of preprocess for FUZZTIME (1m) each
	@FUZZTIME='$(FUZZTIME)' FUZZTIME_OTHERS='$(FUZZTIME_OTHERS)' TAGS='$(TAGS)' tools/fuzz.sh

.PHONY: test-asan
test-asan: setup ## Run the tests of what calls C decoders under AddressSanitizer
	@TAGS='$(TAGS)' tools/test-asan.sh

.PHONY: lint
lint: lint-go lint-proto lint-shell lint-k8s ## Run every linter

.PHONY: lint-go
lint-go: $(TOOLS)/golangci-lint
	@$(TOOLS)/golangci-lint run --build-tags '$(TAGS)' $(PACKAGES)
	@cd tools && GOWORK=off ../$(TOOLS)/golangci-lint run ./...

.PHONY: lint-proto
lint-proto: $(TOOLS)/buf
	@cd proto && ../$(TOOLS)/buf lint

.PHONY: lint-shell
lint-shell:
	@tools/shellcheck.sh

.PHONY: lint-k8s
lint-k8s: $(TOOLS)/kustomize $(TOOLS)/kubectl-validate $(TOOLS)/manifests
	@tools/lint-k8s.sh
