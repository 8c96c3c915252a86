# Pinned developer tools. Versions live in tools/go.mod and tools/kube/go.mod; a tool is built
# again only when those change. They stand outside the workspace so that their dependencies
# never touch ours, and kubectl-validate stands alone since it pins older Kubernetes libraries.

TOOLS := bin/tools
TOOL_BUILD = GOWORK=off go build -trimpath -ldflags '-s -w' -o $(CURDIR)/$@

$(TOOLS)/buf:                PACKAGE := github.com/bufbuild/buf/cmd/buf
$(TOOLS)/golangci-lint:      PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/gotestsum:          PACKAGE := gotest.tools/gotestsum
$(TOOLS)/kustomize:          PACKAGE := sigs.k8s.io/kustomize/kustomize/v5
$(TOOLS)/nats-server:        PACKAGE := github.com/nats-io/nats-server/v2
$(TOOLS)/protoc-gen-go:      PACKAGE := google.golang.org/protobuf/cmd/protoc-gen-go
$(TOOLS)/protoc-gen-go-grpc: PACKAGE := google.golang.org/grpc/cmd/protoc-gen-go-grpc

PINNED := $(addprefix $(TOOLS)/,buf golangci-lint gotestsum kustomize nats-server protoc-gen-go protoc-gen-go-grpc)
$(PINNED): tools/go.mod tools/go.sum
	@echo "build $@ (once for each pinned version)"
	@cd tools && $(TOOL_BUILD) $(PACKAGE)

$(TOOLS)/kubectl-validate: tools/kube/go.mod tools/kube/go.sum
	@echo "build $@ (once for each pinned version)"
	@cd tools/kube && $(TOOL_BUILD) sigs.k8s.io/kubectl-validate

OWN := $(addprefix $(TOOLS)/,manifests plot tracecheck versions)
$(OWN): $(TOOLS)/%: tools/go.mod tools/go.sum $(wildcard tools/*/*.go)
	@cd tools && $(TOOL_BUILD) ./$*

##@ Look after it

.PHONY: tools
tools: $(PINNED) $(OWN) $(TOOLS)/kubectl-validate ## Build the pinned developer tools into bin/tools
