PACKAGES = $(MODULES:%=./%/...)

##@ Check it

.PHONY: test
test: setup $(TOOLS)/gotestsum $(TOOLS)/nats-server ## Run every module's tests with the race detector
	@cd tools && GOWORK=off go test ./...
	@$(TOOLS)/gotestsum --format pkgname -- -race -timeout 10m -tags '$(TAGS)' $(PACKAGES)

# What it does is printed at the end, and kept in coverage/chaos.txt.
.PHONY: test-chaos
test-chaos: setup build $(TOOLS)/nats-server ## Kill, stop, cut off and fill up processes while jobs run; nothing may be lost
	@TEST_PROGRAMS='$(CURDIR)/bin' go test -count=1 -timeout 15m -parallel $(CHAOS_AT_ONCE) -tags 'chaos $(TAGS)' -run '$(CHAOS)' ./cli/chaos || { cat coverage/chaos.txt; exit 1; }
	@cat coverage/chaos.txt

# Which scenarios, as in TestChaos/poison, and how many of them at once: most of them wait most of the time.
CHAOS         ?= TestChaos
CHAOS_AT_ONCE ?= 4

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
	@$(TOOLS)/golangci-lint run --build-tags 'chaos,$(TAGS)' $(PACKAGES)
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
