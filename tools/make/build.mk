##@ Run it

# Without these C libraries the tag selects the pure Go decoders. Expanded late, so that
# `make setup build` sees what setup installed.
TAGS = $(shell pkg-config --exists libjpeg libwebp zlib lcms2 2>/dev/null || echo portable)

# Lazy binding: the symbols of NVML are there only where there is a GPU.
LDFLAGS = -s -w -X triptych/shared/telemetry.version=$(VERSION) -extldflags=-Wl,-z,lazy

.PHONY: setup
setup: ## Install what the build needs: C libraries, ONNX Runtime (once, by checksum)
	@tools/setup.sh
	@tools/onnxruntime.sh >/dev/null # where it lies is found again; what it does is on standard error

.PHONY: build
build: ## Build every binary into bin/
	@mkdir -p bin
	@for pair in $(BINARIES); do \
		echo "build bin/$${pair%%=*}"; \
		go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o "bin/$${pair%%=*}" "$${pair#*=}"; \
	done

.PHONY: demo
demo: setup build ## Classify real photographs through all four services, show one trace
	@tools/demo.sh

.PHONY: up
up: setup build ## Run all four services in one process until interrupted
	@exec bin/triptych up

.PHONY: clean
clean: ## Remove bin/ and coverage/; the cache of fetched libraries stays
	rm -rf bin coverage
