# What measures and proves: `make help-prove` lists it. None of it is needed to change something.

##@ Measure

.PHONY: measure
measure: bin/agent ## Measure failover, traffic, memory and CPU of agents (an hour).
	@echo "measure: 50 kills for each algorithm, with 5 and with 20 processes"
	@go run -C bench ./failover kills
	@echo "measure: what quiet groups of 5 and 20 processes send"
	@go run -C bench ./failover quiet

BENCHSTAT  := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
BENCHMARKS := ./internal/election ./internal/node ./internal/sim ./internal/transport
COUNT      ?= 6

.PHONY: bench
bench: ## Run the benchmarks of algorithms, nodes, simulator and links COUNT times; OLD=FILE compares with another commit's.
	@mkdir -p bin
	@go test -run '^$$' -bench . -benchmem -count $(COUNT) $(BENCHMARKS) | tee bin/bench.txt
	@echo "bench: bin/bench.txt has this, for OLD= at another commit"
	@$(BENCHSTAT) $(OLD) bin/bench.txt

ROUNDS ?= 20
SPAN   ?= 10m

.PHONY: peers
peers: bin/agent ## Measure failover beside raft, client-go and etcd, then all of them under load for SPAN=10m; root.
	@go run -C bench/peers . failover --rounds $(ROUNDS)
	@go run -C bench/peers . stress --span $(SPAN)

GROUPS ?= 200
SCALE  ?=

.PHONY: scale
scale: bin/manager control-plane ## Load a manager with GROUPS=200 groups of five pods: memory, failovers, a restart.
	@echo "scale: $(GROUPS) groups on a control plane of their own"
	@go run -C bench ./scale --manager $(CURDIR)/bin/manager --root $(CURDIR) --groups $(GROUPS) $(SCALE)

CELLS ?= .*

.PHONY: rollouts
rollouts: build ## Roll out Deployments and StatefulSets on the local cluster, and print what each cost: half an hour; CELLS=REGEXP.
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  go test ./test/e2e -run '^TestRollouts$$/($(CELLS))' -v -count=1 -timeout 2h -rollouts

##@ Prove

.PHONY: kind-helm
kind-helm: install-tools ## Install, upgrade, roll back and uninstall the chart on a kind cluster with Helm 4 and 3 (Docker; minutes).
	@KIND_UP=$(KIND_UP) IMAGES=$(IMAGES) hack/kind/helm

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

DURATION ?= 4m
CHAOS    ?=

.PHONY: chaos-local
chaos-local: build ## Run groups on the local cluster under kills, pauses and outages for DURATION (4m); check who acted.
	@$(BUILD) -o bin/register ./test/register/cmd/register
	@$(BUILD) -o bin/chaos-node ./test/chaos/node
	@$(BUILD) -o bin/chaos ./test/chaos
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  bin/chaos --backend local --version $(VERSION) --duration $(DURATION) $(CHAOS)

.PHONY: chaos
chaos: build install-tools ## Run groups on a kind cluster (Docker) under kills, cuts, pauses and outages; CHAOS="--duration 30m".
	@KIND_UP=$(KIND_UP) KEEP=$(KEEP) IMAGES=$(IMAGES) test/chaos/run $(CHAOS)

.PHONY: alerts
alerts: race-note build ## Fire every alert by its fault on the local cluster, with a real Prometheus.
	@command -v promtool >/dev/null && command -v prometheus >/dev/null || \
	  { echo "alerts: prometheus and promtool are not on the PATH: install Debian's package prometheus, or https://prometheus.io/download"; exit 1; }
	@echo "alerts: the rules, by promtool"
	@$(RACE) ./test/alerts ./test/prometheus
	@echo "alerts: ten faults, and the queries of the dashboards, on the local cluster: a minute and a half"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  $(RACE) ./test/e2e/alerts -v -timeout 15m

# The modules whose dependencies are too much to build for each change: raft and etcd; the oldest client-go
# and controller-runtime that the lock supports. With the newest ones its tests are part of test-envtest. The oldest one reads
# its record without its lock when it is asked by a watchdog, so one test runs without the race detector.
RARE_MODULES := bench/peers client/kubernetes client/kubernetes/controllerruntime
RACY := '^TestAWatchDogWatchesTheElector$$'

.PHONY: test-rare
test-rare: race-note ## Check the modules whose dependencies nothing else needs: vet, tidy, linters, API, tests.
	@for module in $(RARE_MODULES); do \
	  echo "test-rare: $$module"; \
	  go -C $$module vet ./... && go -C $$module mod tidy -diff && \
	  (cd $$module && $(LINT) ./... && $(RACE) -skip $(RACY) ./...) || exit 1; \
	done
	@cd client/kubernetes && $(TEST) -run $(RACY) ./...
	@hack/api/check check client client/kubernetes client/kubernetes/controllerruntime

ONLY   ?=
WITHIN ?= 0

.PHONY: mutants
mutants: ## Change the safety core in small ways that its tests must notice; ONLY=REGEXP of FILE:LINE, WITHIN=10m.
	@mkdir -p bin
	@go run ./hack/mutants -only '$(ONLY)' -within $(WITHIN) -o bin/mutants.md

MINUTES ?= 90

.PHONY: nightly
nightly: ## Search for new failures for MINUTES=90: seeds, fuzzing, explorations, mutants, chaos.
	@hack/nightly $(MINUTES)
