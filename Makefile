# Podesta's Makefile: `make help` lists what there is. It needs Go, git and make; Go builds or fetches
# everything else, at the versions that hack/tools/go.mod pins.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
IMAGES  ?= ghcr.io/podesta-dev
KEEP    ?=

export CGO_ENABLED ?= 0

# Binaries are built with -trimpath, and without tables for debuggers, which take a seventh of the compilers' time. With the same
# flags everywhere, tests, linters and tools share what is compiled.
override GOFLAGS := $(strip $(GOFLAGS) $(if $(findstring -trimpath,$(GOFLAGS)),,-trimpath -gcflags=all=-dwarf=false))
export GOFLAGS

# Compilers and tools that need not collect garbage take two fifths less time; the largest package takes a GiB of memory then. What
# they build, and tests, run without it.
EAGER := GOGC=off GOMEMLIMIT=3GiB

TOOL    := $(EAGER) go tool -modfile=hack/tools/go.mod
INSTALL := $(EAGER) go tool -modfile=hack/tools/install/go.mod
LINT    := $(EAGER) go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run --config $(CURDIR)/.golangci.yml ./...

# The client is a module of its own, so that who imports it gets nothing else; nothing of this module imports it, or go install of
# a version would need a replace. What uses both is in bench and examples.
MODULES := . client bench examples hack/cluster hack/tools test/chaos/page
SCRIPTS := .ci/run .ci/prepare-kind hack/api/check hack/check hack/copy-to-client hack/fuzz hack/nightly hack/stages.sh hack/verify-generated.sh \
  hack/kind/up hack/kind/down hack/kind/load test/chaos/run examples/shell/lead.sh
GO_DIRS := api bench client cmd controllers examples hack internal test

# The race detector needs a C compiler; without one the tests run all the same, and say so. What go vet checks is
# among the linters, so that the tests need not wait for it. Tables for debuggers are a third of the time that linking takes.
TEST := go test -toolexec 'env $(EAGER)' -vet=off -ldflags=-s
RACE := $(if $(shell command -v $$(go env CC)),CGO_ENABLED=1 $(TEST) -race,$(TEST))

# Agents and the manager run as small static binaries; grpcnotrace leaves out what only golang.org/x/net/trace needs.
TAGS = grpcnotrace
BUILD = $(EAGER) go build -tags $(TAGS) $(GCFLAGS) -ldflags '-s -w $(LINK) -X main.version=$(VERSION)'

# An agent is small. Functions begin at every 8 bytes instead of 32, and what it seldom runs is
# compiled without inlining: 0.16 MB less each.
bin/agent: LINK = -funcalign 8
bin/agent: GCFLAGS = -gcflags=all=-dwarf=false $(foreach p,$(SELDOM),'-gcflags=$(p)=-l -dwarf=false')
SELDOM = net/http encoding/json text/tabwriter github.com/prometheus/... github.com/spf13/pflag \
  google.golang.org/protobuf/encoding/... google.golang.org/protobuf/internal/filedesc

##@ Use

.PHONY: help
help: ## List these targets.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/cluster ## Elect, kill and elect again on a local cluster (KEEP=1 leaves it running).
	@echo "demo: a control plane and five pods on this machine (the first time fetches or builds etcd and kube-apiserver)"
	@$(MAKE) -j2 control-plane bin/manager bin/agent
	@bin/cluster demo $(if $(KEEP),--keep)

.PHONY: recording
recording: bin/cluster ## Record kubectl election status -w during a failover: docs/failover.svg.
	@echo "recording: a local cluster, a terminal, and a coordinator that is killed (half a minute)"
	@$(MAKE) -j2 control-plane bin/manager bin/agent bin/kubectl-election
	@bin/cluster record

.PHONY: measure
measure: bin/agent ## Measure failover, traffic, memory and CPU of agents (an hour).
	@echo "measure: 50 kills for each algorithm, with 5 and with 20 processes"
	@go run -C bench ./failover kills
	@echo "measure: four ways for a coordinator to end, Classic and Guarded side by side"
	@go run -C bench ./failover modes
	@echo "measure: what quiet groups of 5, 20 and 100 processes send"
	@go run -C bench ./failover quiet

# What is measured again replaces what PEERS has of it. NOTE is for the page: what else the machine did.
NOTE  ?=
SPAN  ?= 3m
PEERS ?= $(CURDIR)/docs/evidence/performance/runs.jsonl

BENCHSTAT  := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
BENCHMARKS := ./internal/election ./internal/node ./internal/sim ./internal/transport
COUNT      ?= 6

.PHONY: bench
bench: ## Run the benchmarks of algorithms, nodes, simulator and links COUNT times; OLD=FILE compares with another commit's.
	@mkdir -p bin
	@go test -run '^$$' -bench . -benchmem -count $(COUNT) $(BENCHMARKS) | tee bin/bench.txt
	@echo "bench: bin/bench.txt has this, for OLD= at another commit"
	@$(BENCHSTAT) $(OLD) bin/bench.txt

.PHONY: peers
peers: export NOTE := $(NOTE)
peers: bin/agent ## Measure Podesta beside raft, client-go and etcd: docs/evidence/performance.md; root, strace; SPAN=1h.
	@mkdir -p $(dir $(PEERS))
	@echo "peers: four ways for a leader to end, nine systems by turns (an hour and a half)"
	@go run -C bench/peers -buildvcs=true . failover --json $(PEERS)
	@echo "peers: all systems at once under eight conditions, $(SPAN) each, with faults"
	@go run -C bench/peers -buildvcs=true . stress --span $(SPAN) --faults SIGKILL,SIGSTOP,SIGTERM,cut --json $(PEERS)
	@echo "peers: all systems at once, with interruptions of a moment, often and seldom, $(SPAN) each"
	@go run -C bench/peers -buildvcs=true . stress --conditions quiet --span $(SPAN) --faults short-SIGSTOP,short-cut --json $(PEERS)
	@go run -C bench/peers -buildvcs=true . stress --conditions quiet --span $(SPAN) --faults short-SIGSTOP,short-cut --apart 30s --json $(PEERS)
	@go run -C bench/peers . report --json $(PEERS) --note "$$NOTE"

GROUPS ?= 200
SCALE  ?=

.PHONY: scale
scale: bin/manager control-plane ## Load a manager with GROUPS=200 groups of five pods: memory, failovers, restarts; SCALE="--standby".
	@echo "scale: $(GROUPS) groups on a control plane of their own (25 pods a second may join)"
	@go run -C bench ./scale --manager $(CURDIR)/bin/manager --root $(CURDIR) --groups $(GROUPS) $(SCALE)

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
	@$(EAGER) go build -C hack/cluster -o $(CURDIR)/$@ .

# What is built once and kept outside the tree: the programs of the control plane, and the tools. Each target that uses one
# makes it, too.
.PHONY: control-plane assets
control-plane: bin/cluster
	@bin/cluster assets --programs etcd,kube-apiserver >/dev/null

assets: bin/cluster
	@bin/cluster assets >/dev/null

.PHONY: prepare
prepare: tools assets build ## Build tools, control plane and binaries, once; with -j at the same time.

.PHONY: docker
docker: export GOOS = linux
docker: bin/manager bin/agent ## Build the images of manager and agent from the binaries in bin/.
	@echo "docker: $(IMAGES)/manager:$(VERSION) and $(IMAGES)/agent:$(VERSION)"
	@docker build --target manager --tag $(IMAGES)/manager:$(VERSION) .
	@docker build --target agent --tag $(IMAGES)/agent:$(VERSION) .

# TAG is that of the images in dist/*.yaml; a release sets it. What is committed says latest.
TAG ?= latest

# What config/ and the chart share is copied, so that it cannot differ; test/install compares the rest.
CHART        := charts/podesta
CHART_SHARED := $(wildcard config/rbac/*role.yaml config/rbac/*role_binding.yaml)

# The first go tool of a program builds it; to have it say so, and not run into a test's time limit, it is done apart.
.PHONY: tools install-tools generate-tools lint-tool
tools: install-tools generate-tools lint-tool

install-tools:
	@echo "tools: kustomize, Helm 4 and Helm 3 (the first time builds them: some minutes)"
	@$(INSTALL) kustomize version >/dev/null
	@$(INSTALL) helm.sh/helm/v4/cmd/helm version >/dev/null
	@$(INSTALL) helm.sh/helm/v3/cmd/helm version >/dev/null

generate-tools:
	@echo "tools: controller-gen, crd-ref-docs and the protobuf plugin"
	@$(TOOL) controller-gen --version >/dev/null
	@$(TOOL) crd-ref-docs --help >/dev/null 2>&1
	@$(TOOL) protoc-gen-go --version >/dev/null

lint-tool:
	@echo "tools: golangci-lint (the first time builds it: a minute or two)"
	@$(TOOL) golangci-lint version >/dev/null

.PHONY: dist
dist: ## Write dist/*.yaml from config/, and what the Helm chart shares with config/.
	@echo "dist: dist/install.yaml, dist/inject.yaml and $(CHART)/files"
	@mkdir -p dist $(CHART)/files
	@for part in default:install inject:inject; do \
	  { echo "# Podesta: kubectl apply --server-side -f $${part#*:}.yaml. Made by make dist from config/$${part%:*}; do not edit."; \
	    $(INSTALL) kustomize build config/$${part%:*} | sed 's|ghcr.io/podesta-dev/\([a-z]*\):latest|$(IMAGES)/\1:$(TAG)|'; } >dist/$${part#*:}.yaml; \
	done
	@rm -rf $(CHART)/files
	@mkdir -p $(CHART)/files/crds $(CHART)/files/rbac $(CHART)/files/admission-policy $(CHART)/files/inject \
	  $(CHART)/files/prometheus $(CHART)/files/grafana
	@cp config/crd/bases/*.yaml $(CHART)/files/crds
	@cp $(CHART_SHARED) $(CHART)/files/rbac
	@cp $(filter-out %/kustomization.yaml,$(wildcard config/admission-policy/*.yaml)) $(CHART)/files/admission-policy
	@cp config/inject/mutating.yaml config/inject/validating.yaml $(CHART)/files/inject
	@cp config/prometheus/rules.yaml $(CHART)/files/prometheus
	@cp config/grafana/*.json $(CHART)/files/grafana

.PHONY: helm
helm: install-tools dist ## Lint and render the chart with Helm 4 and Helm 3, and package it into bin/.
	@for helm in helm.sh/helm/v4/cmd/helm helm.sh/helm/v3/cmd/helm; do \
	  echo "helm: $$helm lint and template"; \
	  $(INSTALL) $$helm lint --strict --quiet $(CHART); \
	  $(INSTALL) $$helm template podesta $(CHART) --namespace podesta-system --kube-version 1.33.0 >/dev/null; \
	done
	@mkdir -p bin
	@$(INSTALL) helm.sh/helm/v4/cmd/helm package $(CHART) --destination bin

.PHONY: clean
clean: ## Remove bin/. The caches of Go and of the control plane stay.
	@echo "clean: bin/"
	@rm -rf bin

##@ Change

PROTO     := internal/transport/linkpb/link.proto internal/roster/rosterpb/roster.proto
GENERATED := api/v1 config/crd/bases config/rbac/role.yaml config/inject config/samples/pods.yaml config/samples/two_replicas.yaml config/grafana \
  $(dir $(PROTO)) client/internal/durable client/internal/backoff dist $(CHART)/files docs/reference/api.md

.PHONY: generate
generate: ## Regenerate deep copies, apply configurations, CRDs, their reference, RBAC, protobuf code and dist.
	@echo "generate: deep copies, apply configurations and CRDs from api/v1"
	@$(TOOL) controller-gen object applyconfiguration crd paths=./api/v1 output:crd:dir=config/crd/bases
	@echo "generate: docs/reference/api.md from api/v1"
	@mkdir -p bin
	@$(TOOL) crd-ref-docs --source-path=api/v1 --config=hack/tools/api-reference.yaml --renderer=markdown \
	  --log-level=ERROR --output-path=bin/api.md
	@{ printf '# The API: every field of ElectionGroup\n\n<!-- Made from api/v1 by make generate; do not edit. -->\n'; \
	  sed -e 1d -e 's/ *<br \/> *|/ |/g' -e 's/Optional: \\{\\}/optional/g' -e 's/Required: \\{\\}/required/g' bin/api.md; \
	  } >docs/reference/api.md
	@echo "generate: config/rbac/role.yaml from the markers in controllers"
	@$(TOOL) controller-gen rbac:roleName=podesta-manager paths=./controllers/... output:rbac:dir=config/rbac
	@echo "generate: config/inject and config/samples from internal/inject"
	@go test ./internal/inject -count=1 -run '^TestGenerated$$' -rewrite
	@echo "generate: config/grafana from hack/dashboards"
	@go run ./hack/dashboards config/grafana
	@echo "generate: $(PROTO)"
	@go run -C hack/tools ./protogen $(CURDIR) $(PROTO)
	@echo "generate: client/internal from internal/backoff and internal/durable"
	@hack/copy-to-client
	@$(MAKE) dist

.PHONY: docs
docs: ## Rewrite what tests generate in docs/.
	@echo "docs: conformance.md, counterexamples.md, simulate.md, observe.md, languages.md and the runbooks"
	@go test ./internal/sim/scenario/conformance ./cmd/kubectl-election ./docs -rewrite

.PHONY: api
api: ## Write down the exported API of the client's modules: hack/api.
	@echo "api: hack/api"
	@hack/api/check update client client/kubernetes

.PHONY: fmt
fmt: ## Format the Go code.
	@echo "fmt: gofmt"
	@gofmt -l -w $(GO_DIRS)

.PHONY: lint
lint: ## Run the linters of .golangci.yml on every module.
	@failed=0; for module in $(MODULES); do \
	  echo "lint: $$module"; \
	  (cd $$module && $(LINT)) || failed=1; \
	done; exit $$failed

.PHONY: verify
verify: ## Check what CI checks apart from tests: generated code, linters, go.mod files, the chart.
	@$(MAKE) verify-tree
	@$(MAKE) lint

# What writes to the tree while it compares. The linters only read it, so CI runs them beside other stages.
.PHONY: verify-tree
verify-tree:
	@hack/verify-generated.sh $(GENERATED)
	@echo "verify: gofmt"
	@unformatted=$$(gofmt -l $(GO_DIRS)); \
	  if [ -n "$$unformatted" ]; then printf 'not formatted; run make fmt:\n%s\n' "$$unformatted"; exit 1; fi
	@echo "verify: no test sleeps in real time"
	@sleepers=$$(git grep --untracked -l 'time\.Sleep(' -- '*_test.go' | xargs -r grep -L -e '"testing/synctest"' -e '/test/bubble"' || true); \
	  if [ -n "$$sleepers" ]; then printf 'these sleep outside a bubble (test/bubble); wait for the event:\n%s\n' "$$sleepers"; exit 1; fi
	@for module in $(MODULES); do \
	  echo "verify: go mod tidy in $$module"; \
	  go -C $$module mod tidy -diff || { echo "run: go -C $$module mod tidy"; exit 1; }; \
	done
	@echo "verify: the exported API of the client"
	@hack/api/check check client
	@if command -v shellcheck >/dev/null; then \
	  echo "verify: shellcheck"; \
	  shellcheck -x $(SCRIPTS); \
	fi
	@for module in hack/tools/install hack/kind; do \
	  echo "verify: go mod tidy in $$module"; \
	  go -C $$module mod tidy -diff || { echo "run: go -C $$module mod tidy"; exit 1; }; \
	done
	@$(MAKE) helm

##@ Test

.PHONY: check
check: ## Check formatting, go vet, linters on what changed, and short tests: a minute, no control plane.
	@hack/check $(MODULES)

.PHONY: test
test: test-unit test-envtest test-e2e ## Run all tests: unit, API (envtest) and end to end. No root, no Docker.

.PHONY: test-unit
test-unit: race-note bin/cluster ## Run the unit tests and the goldens.
	@echo "test-unit: every package outside test/, and the other modules"
	@packages=$$(go list ./... | grep -v -e /test/ -e '/internal/sim$$'); $(RACE) $$packages
	@echo "test-unit: the simulator, without the race detector, which makes it eight times slower; then a few seeds with it"
	@$(TEST) $(SIMULATOR)
	@$(RACE) -short -skip '^TestOracleFindsWhatIsBroken$$' $(SIMULATOR)
	@cd test/chaos/page && $(RACE) ./...
	@cd client && $(RACE) ./...
	@cd bench && $(RACE) ./...
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; cd hack/cluster && $(RACE) ./...

.PHONY: test-envtest
test-envtest: race-note bin/agent bin/cluster install-tools ## Run the tests of API, installation and examples against a real kube-apiserver and etcd.
	@echo "test-envtest: the first time builds or fetches kube-apiserver and etcd: some minutes"
	@bytes=$$(wc -c <bin/agent); [ "$$bytes" -le 12000000 ] || \
	  { echo "test-envtest: bin/agent, which is all of its image, has $$bytes bytes: at most 12 MB are promised"; exit 1; }
	@bin/cluster assets >/dev/null # before the two, or each would build them
	@$(MAKE) -j2 test-api test-examples

# Both mostly wait, so they run beside each other.
.PHONY: test-api test-examples
test-api: bin/cluster
	@echo "test-api: API, manager and installation"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  packages=$$(go list ./test/... | grep -v /test/e2e); $(RACE) $$packages

test-examples: bin/agent bin/cluster
	@echo "test-examples: examples, and client/kubernetes with the newest controller-runtime"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  cd examples && $(RACE) -p 1 ./... github.com/podesta-dev/podesta/client/kubernetes

.PHONY: test-e2e
test-e2e: race-note build ## Run the end-to-end tests on the local cluster.
	@echo "test-e2e: elections, kills and edits on the local cluster: some minutes"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; $(RACE) ./test/e2e -v -timeout 20m -parallel 3

# The modules whose dependencies are too much to build for each change: raft and etcd; the oldest client-go
# that the lock supports. With the newest one its tests are part of test-envtest. The oldest one reads
# its record without its lock when it is asked by a watchdog, so one test runs without the race detector.
RARE_MODULES := bench/peers client/kubernetes
RACY := '^TestAWatchDogWatchesTheElector$$'

.PHONY: test-rare
test-rare: race-note ## Check the modules whose dependencies nothing else needs: vet, tidy, linters, API, tests.
	@for module in $(RARE_MODULES); do \
	  echo "test-rare: $$module"; \
	  go -C $$module vet ./... && go -C $$module mod tidy -diff && \
	  (cd $$module && $(LINT) && $(RACE) -skip $(RACY) ./...) || exit 1; \
	done
	@cd client/kubernetes && $(TEST) -run $(RACY) ./...
	@hack/api/check check client client/kubernetes

PICTURES ?=

.PHONY: alerts
alerts: race-note build ## Fire every alert by its fault on the local cluster, with a real Prometheus; PICTURES=docs/dashboards.
	@command -v promtool >/dev/null && command -v prometheus >/dev/null || \
	  { echo "alerts: prometheus and promtool are not on the PATH: install Debian's package prometheus, or https://prometheus.io/download"; exit 1; }
	@echo "alerts: the rules, by promtool"
	@$(RACE) ./test/alerts ./test/prometheus
	@echo "alerts: ten faults, and the queries of the dashboards, on the local cluster: a minute and a half"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  $(RACE) ./test/e2e/alerts -v -timeout 15m $(if $(PICTURES),-count=1 -args -pictures $(abspath $(PICTURES)))

.PHONY: race-note
race-note:
	@$(if $(findstring -race,$(RACE)),:,echo "note: no C compiler here; the tests run without the race detector")

##@ Prove

SEEDS     ?= 10000
FIRST     ?= 1
PROCESSES ?= 3
STATES    ?= 3000000
WANDERS   ?= 100000

# The package of TestSimulate.
SIMULATOR := ./internal/sim
SIMULATE  := GOGC=400 go test $(SIMULATOR) -v -timeout 0 -run '^TestSimulate'

.PHONY: sim
sim: ## Simulate SEEDS=10000 seeds from FIRST=1 of each algorithm: chaos, then calm.
	@echo "sim: $(SEEDS) seeds of each algorithm in each mode, from $(FIRST)"
	@$(SIMULATE) -seeds $(SEEDS) -first $(FIRST)

.PHONY: sim-long
sim-long: SEEDS = 850000
sim-long: ## The same for a night, ten million seeds; stop at 100 failures.
	@echo "sim-long: $(SEEDS) seeds of each algorithm in each mode, from $(FIRST)"
	@$(SIMULATE) -seeds $(SEEDS) -first $(FIRST) -failures 100

FOR ?= 20m

.PHONY: sim-fresh
sim-fresh: ## Simulate seeds that nobody has tried, and storms on links, FOR=20m; pin the seeds that fail.
	@echo "sim-fresh: seeds that nobody has tried, for $(FOR)"
	@$(SIMULATE)'$$' -count=1 -fresh $(FOR)
	@go test ./internal/transport -count=3 -seed 0

.PHONY: fuzz
fuzz: ## Fuzz every target, all together FOR=20m; what fails stays in testdata/fuzz.
	@hack/fuzz $(FOR)

.PHONY: explore
explore: ## Explore every interleaving of PROCESSES=3, up to STATES: more than half an hour.
	@echo "explore: $(PROCESSES) processes, one crash and one lost message, timers on time"
	@go test ./internal/election -run '^TestExplore$$' -v -timeout 0 -explore $(PROCESSES) -states $(STATES)
	@echo "explore: the same with a timer that runs out too early"
	@go test ./internal/election -run '^TestExplore$$/.*/^the_coordinator' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -early 1
	@echo "explore: cold starts with a crash, and with a lost message"
	@go test ./internal/election -run '^TestExplore$$/.*/^cold' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -losses 0
	@go test ./internal/election -run '^TestExplore$$/.*/^cold' -v -timeout 0 -explore $(PROCESSES) -states $(STATES) -crashes 0
	@echo "explore: lease: three voters on clocks at the edge of their bounds, one mishap each; then all at once, and for longer"
	@go test ./internal/lease -run '^TestExplore$$' -v -timeout 0 -quanta 2 -states $(STATES)
	@go test ./internal/lease -run '^TestExplore$$' -v -timeout 0 -quanta 4 -late 2 -states $(STATES)
	@go test ./internal/lease -run '^TestWander$$' -v -timeout 0 -wanders $(WANDERS)

DURATION  ?= 4m
CHAOS     ?=

.PHONY: chaos-local
chaos-local: build ## Run groups on the local cluster under kills, pauses and outages for DURATION (4m); check who acted.
	@$(BUILD) -o bin/register ./test/register/cmd/register
	@$(BUILD) -o bin/chaos-node ./test/chaos/node
	@$(BUILD) -o bin/chaos ./test/chaos
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  bin/chaos --backend local --version $(VERSION) --duration $(DURATION) $(CHAOS)

# KIND_UP brings a kind cluster up: COMMAND NAME WORKERS KUBECONFIG. KEEP=1 leaves the cluster running.
KIND_UP ?= hack/kind/up
STORY   ?=

.PHONY: chaos
chaos: build install-tools ## Run groups on a kind cluster (Docker) under kills, cuts, pauses and outages; CHAOS="--duration 30m".
	@KIND_UP=$(KIND_UP) KEEP=$(KEEP) IMAGES=$(IMAGES) STORY=$(STORY) test/chaos/run $(CHAOS)

.PHONY: story
story: build install-tools ## Tell the operator's story on a kind cluster: faults, alerts, explain, runbooks; needs Prometheus.
	@KIND_UP=$(KIND_UP) KEEP=$(KEEP) IMAGES=$(IMAGES) STORY=only PREVIOUS=- test/chaos/run

ONLY     ?=
WITHIN   ?= 0
PARALLEL ?= $(shell nproc)
SHUFFLES ?= 0
SEARCHES ?= needed

.PHONY: mutants
mutants: ## Put known bugs into the code: an hour; ONLY=REGEXP of package or name, WITHIN=10m, SHUFFLES=5, SEARCHES=all|none.
	@echo "mutants: $(PARALLEL) at a time, with the tests of their packages; searches: $(SEARCHES)"
	@go run ./hack/mutants -only '$(ONLY)' -within $(WITHIN) -parallel $(PARALLEL) -shuffles $(SHUFFLES) -searches $(SEARCHES) -o docs/evidence/mutants.md

MINUTES ?= 90

.PHONY: nightly
nightly: ## Search for new failures for MINUTES=90: seeds, fuzzing, explorations, mutants, chaos.
	@hack/nightly $(MINUTES)
