# Podesta's Makefile: `make help` lists what there is. It needs Go, git and make; everything else is built or fetched by Go
# at the versions that hack/tools/go.mod pins.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
IMAGES  ?= ghcr.io/podesta-dev
KEEP    ?=

export CGO_ENABLED ?= 0
TOOL    := go tool -modfile=hack/tools/go.mod
MODULES := . hack/cluster hack/tools
GO_DIRS := api cmd controllers hack internal test

# The race detector needs a C compiler; without one the tests run all the same, and say so.
RACE := $(if $(shell command -v $$(go env CC)),CGO_ENABLED=1 go test -race,go test)

# Agents and the manager run as small static binaries; grpcnotrace leaves out what only golang.org/x/net/trace needs.
BUILD := go build -tags grpcnotrace -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

##@ Use

.PHONY: help
help: ## List these targets.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Elect, kill and elect again on a local cluster (KEEP=1 leaves it running).
	@echo "demo: a control plane and five pods on this machine (the first time builds the control plane: some minutes)"
	@bin/cluster demo $(if $(KEEP),--keep)

.PHONY: measure
measure: bin/agent ## Measure failover, memory and CPU of agents on this machine (half an hour; docs/measurements.md).
	@echo "measure: 50 kills for each algorithm, with 5 and with 20 processes"
	@go run ./bench/failover --agent bin/agent

##@ Build

.PHONY: build
build: bin/manager bin/agent bin/cluster bin/kubectl-election ## Build bin/manager, bin/agent, bin/cluster and bin/kubectl-election.

# go build knows best what is out of date, so the recipes always run; with nothing to do they take part of a second.
.PHONY: bin/manager bin/agent bin/cluster bin/kubectl-election
bin/manager bin/agent bin/kubectl-election: bin/%:
	@echo "build: $@"
	@$(BUILD) -o $@ ./cmd/$*

bin/cluster:
	@echo "build: $@"
	@go build -C hack/cluster -trimpath -o $(CURDIR)/$@ .

.PHONY: docker
docker: bin/manager bin/agent ## Build the images of manager and agent from the binaries in bin/ (Linux, no base image).
	@echo "docker: $(IMAGES)/manager:$(VERSION) and $(IMAGES)/agent:$(VERSION)"
	@docker build --target manager --tag $(IMAGES)/manager:$(VERSION) .
	@docker build --target agent --tag $(IMAGES)/agent:$(VERSION) .

.PHONY: clean
clean: ## Remove bin/. The caches of Go and of the control plane stay.
	@echo "clean: bin/"
	@rm -rf bin

##@ Change

PROTO     := internal/transport/linkpb/link.proto internal/roster/rosterpb/roster.proto
GENERATED := api/v1 config/crd/bases config/rbac/role.yaml $(dir $(PROTO))

.PHONY: generate
generate: ## Regenerate deep copies, apply configurations, CRDs, RBAC and protobuf code.
	@echo "generate: deep copies, apply configurations and CRDs from api/v1"
	@$(TOOL) controller-gen object applyconfiguration crd paths=./api/v1 output:crd:dir=config/crd/bases
	@echo "generate: config/rbac/role.yaml from the markers in controllers"
	@$(TOOL) controller-gen rbac:roleName=podesta-manager paths=./controllers/... output:rbac:dir=config/rbac
	@echo "generate: $(PROTO)"
	@go run -C hack/tools ./protogen $(CURDIR) $(PROTO)

.PHONY: docs
docs: ## Rewrite what tests generate in docs/: conformance, counterexamples, the examples of simulate.
	@echo "docs: conformance.md, counterexamples.md and simulate.md"
	@go test ./internal/conformance ./cmd/kubectl-election -rewrite

.PHONY: fmt
fmt: ## Format the Go code.
	@echo "fmt: gofmt"
	@gofmt -l -w $(GO_DIRS)

.PHONY: lint
lint: ## Run the linters of .golangci.yml on every module (the first time builds them: a minute or two).
	@failed=0; for module in $(MODULES); do \
	  echo "lint: $$module"; \
	  (cd $$module && go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run --config $(CURDIR)/.golangci.yml ./...) \
	    || failed=1; \
	done; exit $$failed

.PHONY: verify
verify: ## Check what CI checks apart from tests: generated code, formatting, go vet, linters, go.mod files.
	@hack/verify-generated.sh $(GENERATED)
	@echo "verify: gofmt"
	@unformatted=$$(gofmt -l $(GO_DIRS)); \
	  if [ -n "$$unformatted" ]; then printf 'not formatted; run make fmt:\n%s\n' "$$unformatted"; exit 1; fi
	@echo "verify: no test sleeps in real time"
	@sleepers=$$(git grep --untracked -l 'time\.Sleep(' -- '*_test.go' | xargs -r grep -L '"testing/synctest"' || true); \
	  if [ -n "$$sleepers" ]; then printf 'these sleep outside testing/synctest; wait for the event:\n%s\n' "$$sleepers"; exit 1; fi
	@for module in $(MODULES); do \
	  echo "verify: go vet and go mod tidy in $$module"; \
	  go -C $$module vet ./...; \
	  go -C $$module mod tidy -diff || { echo "run: go -C $$module mod tidy"; exit 1; }; \
	done
	@$(MAKE) lint

##@ Test

.PHONY: test
test: test-unit test-envtest test-e2e ## Run all tests: unit, API (envtest) and end to end. No root, no Docker.

.PHONY: test-unit
test-unit: race-note bin/cluster ## Run the unit tests and the goldens.
	@echo "test-unit: every package outside test/, and hack/cluster"
	@packages=$$(go list ./... | grep -v /test/); $(RACE) $$packages
	@echo "test-unit: the simulator, with seeds that nobody has tried yet"
	@go test ./internal/election -run '^TestSimulate$$' -count=1 -v | grep -E 'fresh seeds|^(ok|FAIL|panic)|sim_test.go.*seed [0-9]+ at'
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; cd hack/cluster && $(RACE) ./...

.PHONY: test-envtest
test-envtest: race-note bin/cluster ## Run the tests of the API against a real kube-apiserver and etcd.
	@echo "test-envtest: the first time builds or fetches kube-apiserver and etcd: some minutes"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  packages=$$(go list ./test/... | grep -v /test/e2e); $(RACE) $$packages

.PHONY: test-e2e
test-e2e: race-note build ## Run the end-to-end tests on the local cluster.
	@echo "test-e2e: elections, kills and edits on the local cluster: some minutes"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; $(RACE) ./test/e2e -v

.PHONY: race-note
race-note:
	@$(if $(findstring -race,$(RACE)),:,echo "note: no C compiler here; the tests run without the race detector")

##@ Prove

SEEDS     ?= 10000
FIRST     ?= 1
PROCESSES ?= 3
STATES    ?= 3000000

.PHONY: sim
sim: ## Simulate SEEDS seeds (10000, from FIRST=1) of each algorithm: chaos, then calm.
	@echo "sim: $(SEEDS) seeds of each algorithm, from $(FIRST)"
	@go test ./internal/election -run '^TestSimulate$$' -v -timeout 0 -seeds $(SEEDS) -first $(FIRST)

.PHONY: explore
explore: ## Explore every interleaving of PROCESSES processes (3), up to STATES states: a quarter of an hour.
	@echo "explore: $(PROCESSES) processes, one crash and one lost message, timers on time"
	@go test ./internal/election -run '^TestExplore$$' -v -timeout 0 -explore $(PROCESSES) -states $(STATES)
	@echo "explore: the same with a timer that runs out too early"
	@go test ./internal/election -run '^TestExplore$$/.*/^the_coordinator' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -early 1
	@echo "explore: cold starts with a crash, and with a lost message"
	@go test ./internal/election -run '^TestExplore$$/.*/^cold' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -losses 0
	@go test ./internal/election -run '^TestExplore$$/.*/^cold' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -crashes 0

.PHONY: mutants
mutants: ## Put known bugs into the algorithms, and write docs/mutants.md: five minutes or so.
	@echo "mutants: one at a time, with the goldens, the unit tests and the simulator"
	@go run ./hack/mutants -o docs/mutants.md
