# Each verify-X has a fix-X where a machine can do the fixing.

# The quick ones first.
VERIFY := links tidy versions fmt gen alone

.PHONY: verify
verify: $(VERIFY:%=verify-%) ## Check all of the verify-* below

.PHONY: generate
generate: fix-gen ## Generate the Go code of proto/

.PHONY: verify-gen fix-gen
verify-gen: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc ## Generated code is fresh
	@tools/verify-gen.sh
fix-gen: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc ## ... generate it
	@cd proto && ../$(TOOLS)/buf generate

TIDY := $(MODULES) tools tools/kube
.PHONY: verify-tidy fix-tidy
verify-tidy: ## Every go.mod and go.sum is tidy
	@for m in $(TIDY); do \
		(cd "$$m" && GOWORK=off go mod tidy -diff) || { echo "$$m is not tidy: run make fix-tidy" >&2; exit 1; }; \
	done
fix-tidy: ## ... tidy them
	@for m in $(TIDY); do (cd "$$m" && GOWORK=off go mod tidy); done

.PHONY: verify-fmt fix-fmt
verify-fmt: $(TOOLS)/golangci-lint ## Every Go file is formatted
	@$(TOOLS)/golangci-lint fmt --diff || { echo "run make fix-fmt" >&2; exit 1; }
fix-fmt: $(TOOLS)/golangci-lint ## ... format them
	@$(TOOLS)/golangci-lint fmt

.PHONY: verify-versions fix-versions
verify-versions: $(TOOLS)/versions ## Modules agree on the version of everything they share
	@$(TOOLS)/versions $(MODULES) || { echo "run make fix-versions" >&2; exit 1; }
fix-versions: ## ... raise each to the highest
	@$(MAKE) fix-tidy
	@go work sync
	@$(MAKE) fix-tidy

.PHONY: verify-alone
verify-alone: ## Every module builds and vets without the workspace
	@for m in $(MODULES); do \
		echo "alone $$m"; \
		(cd "$$m" && GOWORK=off go build -tags '$(TAGS)' ./... && GOWORK=off go vet -tags 'chaos $(TAGS)' ./...); \
	done

.PHONY: verify-links
verify-links: ## Relative links in the documentation lead somewhere
	@tools/verify-links.sh
