# Triptych: `make` alone lists what can be done. The recipes live in tools/make/*.mk.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

# Every module of the workspace, in the order of their imports. tools/ stands outside.
MODULES := proto shared services/preprocess services/predictor services/postprocess gateway cli loadtest

# What `make build` puts into bin/, as NAME=PACKAGE.
BINARIES := triptych=./cli/cmd/triptych gateway=./gateway/cmd/gateway \
	preprocess=./services/preprocess/cmd/preprocess \
	predictor=./services/predictor/cmd/predictor \
	postprocess=./services/postprocess/cmd/postprocess \
	loadtest=./loadtest

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Where fetched run-time libraries are kept between builds.
export TRIPTYCH_CACHE ?= $(CURDIR)/.cache
# The predictor finds the usual place by itself; expanded late, after setup has filled another one.
ifneq ($(TRIPTYCH_CACHE),$(CURDIR)/.cache)
export TRIPTYCH_ONNXRUNTIME ?= $(shell find "$(TRIPTYCH_CACHE)/onnxruntime" -name libonnxruntime.so 2>/dev/null | sort -V | tail -n 1)
endif

# The header that NVIDIA's binding brings marks much of itself as deprecated: 300 lines of warnings.
export CGO_CFLAGS ?= -g -O2 -Wno-deprecated-declarations

include tools/make/help.mk
include tools/make/build.mk
include tools/make/tools.mk
include tools/make/test.mk
include tools/make/verify.mk
include tools/make/docker.mk
include tools/make/bench.mk
