# Podesta's Makefile: `make help` lists what there is. It needs Go, git and make; Go builds or fetches
# everything else, at the versions that hack/tools pins. What measures and proves is in hack/prove.mk.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
IMAGES  ?= ghcr.io/podesta-dev
TAG     ?= latest
# The images that manifests name; with these, one may be named by its digest: AGENT_IMAGE=ghcr.io/acme/agent@sha256:…
MANAGER_IMAGE ?= $(IMAGES)/manager:$(TAG)
AGENT_IMAGE   ?= $(IMAGES)/agent:$(TAG)
# Where there is no kubectl, the one that the tests use.
KUBECTL ?= $(shell command -v kubectl || echo "$$(bin/cluster assets --programs kubectl)/kubectl")
# KIND_UP brings a kind cluster up: COMMAND NAME WORKERS KUBECONFIG.
KIND_UP ?= hack/kind/up
KEEP    ?=

# go.work is for editors and for your own go commands. Here each module is built as who imports it gets it.
export GOWORK := off
export CGO_ENABLED ?= 0

TOOL    := go tool -modfile=$(CURDIR)/hack/tools/go.mod
INSTALL := go tool -modfile=hack/tools/install/go.mod
LINT    := go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint-kube-api-linter run --config $(CURDIR)/.golangci.yml

# The API and the client are modules of their own, so that who imports one gets nothing else. Nothing of this module imports the
# client; what uses both is in bench and examples. The API is required, and a release does that without a replace: CONTRIBUTING.md.
MODULES := . api client bench examples hack/cluster hack/tools
SCRIPTS := .ci/run .ci/prepare-kind hack/api/check hack/check hack/fuzz hack/nightly hack/stages.sh hack/verify-generated.sh \
  hack/kind/up hack/kind/down hack/kind/load hack/kind/deploy hack/kind/helm hack/packages test/chaos/run examples/shell/lead.sh
GO_DIRS := api bench client cmd controllers examples hack internal test

# The race detector needs a C compiler; without one the tests run all the same, and say so. What go vet checks is
# among the linters, so that the tests need not wait for it. Tables for debuggers are a third of the time that linking takes.
TEST := go test -vet=off -ldflags=-s
RACE := $(if $(shell command -v $$(go env CC)),CGO_ENABLED=1 $(TEST) -race,$(TEST))

##@ Use

.PHONY: help
help: ## List these targets.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(or $(FROM),Makefile)

help-prove: ## List what measures and proves: simulations, chaos, mutants, benchmarks.
	@$(MAKE) help FROM=hack/prove.mk

.PHONY: demo
demo: bin/cluster ## Elect, kill and elect again on a local cluster (KEEP=1 leaves it running).
	@echo "demo: a control plane and five pods on this machine (the first time fetches or builds etcd and kube-apiserver)"
	@$(MAKE) -j2 control-plane bin/manager bin/agent
	@bin/cluster demo $(if $(KEEP),--keep)

##@ Develop

# What is made from the code, and compared by make verify.
PROTO     := internal/transport/linkpb/link.proto internal/roster/rosterpb/roster.proto
GENERATED := api/v1 config/crd/bases config/rbac/role.yaml config/inject config/samples/pods.yaml config/samples/two_replicas.yaml config/grafana \
  $(dir $(PROTO)) dist docs/reference/api.md

.PHONY: manifests
manifests: ## Write CRDs, RBAC, injection policies, samples and dashboards to config/.
	@echo "manifests: config/crd and config/rbac from api/v1 and the markers in controllers"
	@cd api && $(TOOL) controller-gen crd paths=./v1 output:crd:dir=$(CURDIR)/config/crd/bases
	@$(TOOL) controller-gen rbac:roleName=podesta-manager paths=./controllers/... output:rbac:dir=config/rbac
	@echo "manifests: config/inject and config/samples from internal/inject"
	@go test ./internal/inject -count=1 -run '^TestGenerated$$' -rewrite
	@echo "manifests: config/grafana from hack/tools/dashboards"
	@go run -C hack/tools ./dashboards $(CURDIR)/config/grafana

.PHONY: generate
generate: ## Write deep copies, protobuf code and docs/reference/api.md.
	@echo "generate: deep copies from api/v1"
	@cd api && $(TOOL) controller-gen object paths=./v1
	@echo "generate: $(PROTO)"
	@go run -C hack/tools ./protogen $(CURDIR) $(PROTO)
	@echo "generate: docs/reference/api.md from api/v1"
	@mkdir -p bin
	@$(TOOL) crd-ref-docs --source-path=api/v1 --config=hack/tools/api-reference.yaml --renderer=markdown \
	  --log-level=ERROR --output-path=bin/api.md
	@{ printf '# The API: every field of ElectionGroup\n\n<!-- Made from api/v1 by make generate; do not edit. -->\n'; \
	  sed -e 1d -e 's/ *<br \/> *|/ |/g' -e 's/Optional: \\{\\}/optional/g' -e 's/Required: \\{\\}/required/g' bin/api.md; \
	  } >docs/reference/api.md

.PHONY: docs
docs: ## Rewrite what tests generate in docs/.
	@echo "docs: conformance.md, counterexamples.md, simulate.md, observe.md, languages.md, write-a-client.md and the runbooks"
	@go test ./internal/sim/scenario/conformance ./cmd/kubectl-election ./docs -rewrite

.PHONY: api
api: ## Write down the exported API of the client's modules: hack/api.
	@echo "api: hack/api"
	@hack/api/check update client client/kubernetes client/kubernetes/controllerruntime

.PHONY: fmt
fmt: ## Format the Go code.
	@echo "fmt: gofmt"
	@gofmt -l -w $(GO_DIRS)

# Unit tests and envtest are for macOS, too, so the code must compile there. The examples run agents by
# Linux's means.
.PHONY: vet
vet: ## Run go vet on every module, for Linux and, but for the examples, for macOS.
	@for module in $(MODULES); do for os in linux $$([ $$module = examples ] || echo darwin); do \
	  echo "vet: $$module on $$os"; GOOS=$$os go -C $$module vet ./... || exit 1; \
	done; done

.PHONY: lint
lint: ## Run the linters of .golangci.yml on every module.
	@failed=0; for module in $(MODULES); do \
	  echo "lint: $$module"; \
	  (cd $$module && $(LINT) ./...) || failed=1; \
	done; exit $$failed

.PHONY: lint-fix
lint-fix: ## Run the linters, and let them mend what they can.
	@for module in $(MODULES); do echo "lint-fix: $$module"; (cd $$module && $(LINT) --fix ./...) || exit 1; done

.PHONY: check
check: ## Check formatting, go vet, linters on what changed, and short tests: a minute, no control plane.
	@hack/check $(MODULES)

.PHONY: verify
verify: verify-tree lint ## Check what CI checks apart from tests: generated code, linters, go.mod files, the chart.

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
	@for module in $(MODULES) hack/tools/install hack/tools/chart hack/kind; do \
	  echo "verify: go mod tidy in $$module"; \
	  go -C $$module mod tidy -diff || { echo "run: go -C $$module mod tidy"; exit 1; }; \
	done
	@echo "verify: go.work"
	@GOWORK=$(CURDIR)/go.work go build ./... ./api/... ./client/... ./bench/... ./examples/... ./hack/cluster/...
	@echo "verify: the exported API of the client"
	@hack/api/check check client
	@if command -v shellcheck >/dev/null; then \
	  echo "verify: shellcheck"; \
	  shellcheck -x $(SCRIPTS); \
	fi
	@$(MAKE) helm

##@ Test

.PHONY: test
test: ## Run all tests: unit, API (envtest), end to end, floods. No root, no Docker.
	@$(MAKE) test-unit
	@$(MAKE) test-envtest
	@$(MAKE) test-e2e
	@$(MAKE) test-alone

.PHONY: test-unit
test-unit: race-note bin/cluster ## Run the unit tests and the goldens.
	@echo "test-unit: every package outside test/, and the other modules"
	@packages=$$(go list ./... | grep -v -e /test/ -e '/internal/sim$$'); $(RACE) $$packages
	@echo "test-unit: the simulator and groups of a hundred, without the race detector, which makes it eight times slower; then a few seeds with it"
	@$(TEST) $(SIMULATOR)
	@$(TEST) -run '^TestTheLargestGroup$$' -timeout 20m ./internal/node
	@$(RACE) -short -skip '^TestOracleFindsWhatIsBroken$$' $(SIMULATOR)
	@cd client && $(RACE) ./...
	@cd bench && $(RACE) ./...
	@$(MAKE) test-packages
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; cd hack/cluster && $(RACE) ./...

.PHONY: test-packages
test-packages: ## Run the unit tests of the Python and the Node package.
	@if command -v python3 >/dev/null; then echo "test-packages: client/python"; \
	  cd client/python && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest; \
	  else echo "test-packages: there is no python3, so client/python is not tested"; fi
	@if command -v node >/dev/null; then echo "test-packages: client/node"; \
	  cd client/node && node --test test/podesta.test.js; \
	  else echo "test-packages: there is no node, so client/node is not tested"; fi

.PHONY: setup-envtest
setup-envtest: assets ## Fetch etcd, kube-apiserver, kube-controller-manager and kubectl for the tests, or build them; print their folder.
	@bin/cluster assets

.PHONY: test-envtest
test-envtest: race-note bin/agent bin/cluster install-tools ## Run the tests of API, installation and examples against a real kube-apiserver and etcd.
	@echo "test-envtest: the first time fetches or builds kube-apiserver and etcd: some minutes"
	@bin/cluster assets >/dev/null # before the two, or each would build them
	@$(MAKE) -j2 test-api test-examples

# Both mostly wait, so they run beside each other.
.PHONY: test-api test-examples
test-api: bin/cluster bin/image/agent bin/image/lead
	@echo "test-api: API, manager and installation"
	@bytes=$$(wc -c <bin/image/agent); [ "$$bytes" -le 12000000 ] || \
	  { echo "test-api: the agent has $$bytes bytes: at most 12 MB are promised"; exit 1; }
	@bytes=$$(wc -c <bin/image/lead); [ "$$bytes" -le 6291456 ] || \
	  { echo "test-api: lead has $$bytes bytes: at most 6 MiB are promised"; exit 1; }
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  packages=$$(go list ./test/... | grep -v /test/e2e); $(RACE) $$packages

test-examples: bin/agent bin/cluster
	@echo "test-examples: examples, and client/kubernetes with the newest client-go and controller-runtime"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  cd examples && $(RACE) -p 1 ./... $(addprefix github.com/podesta-dev/podesta/client/,kubernetes kubernetes/controllerruntime)

.PHONY: test-e2e
test-e2e: race-note build ## Run the end-to-end tests on the local cluster.
	@echo "test-e2e: elections, kills and edits on the local cluster: some minutes"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; $(RACE) ./test/e2e -v -timeout 20m -parallel 3

# A flood takes all there is of a machine, so nothing runs beside it.
.PHONY: test-alone
test-alone: race-note bin/cluster install-tools ## Flood a manager and an agent, after all other tests.
	@echo "test-alone: floods: a minute or two"
	@KUBEBUILDER_ASSETS=$$(bin/cluster assets); export KUBEBUILDER_ASSETS; \
	  $(TEST) -tags alone -p 1 -parallel 1 -run '^TestFlooded' ./cmd/agent ./test/install

.PHONY: race-note
race-note:
	@$(if $(findstring -race,$(RACE)),:,echo "note: no C compiler here; the tests run without the race detector")

##@ Build

.PHONY: build
build: bin/manager bin/agent bin/lead bin/cluster bin/kubectl-election ## Build bin/manager, bin/agent, bin/lead, bin/cluster and bin/kubectl-election.

# go build knows best what is out of date, so the recipes always run; with nothing to do they take part of a second.
# bin/image has what the images hold: for Linux, and without what only a debugger needs.
# grpcnotrace leaves out what only golang.org/x/net/trace needs.
BUILD = go build -tags grpcnotrace -ldflags '$(STRIP) -X main.version=$(VERSION)'

.PHONY: bin/manager bin/agent bin/lead bin/cluster bin/kubectl-election
.PHONY: bin/image/manager bin/image/agent bin/image/lead
bin/manager bin/agent bin/kubectl-election: bin/%:
	@echo "build: $@"
	@$(BUILD) -o $@ ./cmd/$*

bin/image/manager bin/image/agent bin/image/lead: STRIP = -s -w
bin/image/manager bin/image/agent: bin/image/%:
	@echo "build: $@"
	@GOOS=linux $(BUILD) -o $@ ./cmd/$*

# lead speaks HTTP/1.1 to an agent beside it, and programs that are not ours carry it.
bin/lead bin/image/lead:
	@echo "build: $@"
	@CGO_ENABLED=0 GOOS=linux go build -C client -tags nethttpomithttp2 -ldflags '$(STRIP)' -o $(CURDIR)/$@ ./cmd/lead

bin/cluster:
	@echo "build: $@"
	@go build -C hack/cluster -o $(CURDIR)/$@ .

# What is built once and kept outside the tree: the programs of the control plane, and the tools. Each target that
# uses one makes it, too. The first go tool of a program builds it; done apart, it says so and runs into no time limit.
.PHONY: control-plane assets install-tools generate-tools lint-tool
control-plane: bin/cluster
	@bin/cluster assets --programs etcd,kube-apiserver >/dev/null

assets: bin/cluster
	@bin/cluster assets >/dev/null

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
	@$(LINT) --help >/dev/null

.PHONY: docker-build
docker-build: bin/image/manager bin/image/agent bin/image/lead ## Build the images IMAGES/manager:TAG and IMAGES/agent:TAG.
	@echo "docker-build: $(IMAGES)/manager:$(TAG) and $(IMAGES)/agent:$(TAG)"
	@docker build --target manager --tag $(IMAGES)/manager:$(TAG) .
	@docker build --target agent --tag $(IMAGES)/agent:$(TAG) .

.PHONY: docker-push
docker-push: ## Push the two images.
	@docker push $(IMAGES)/manager:$(TAG)
	@docker push $(IMAGES)/agent:$(TAG)

.PHONY: packages
packages: ## Build the Python wheel and the npm package into dist/.
	@echo "packages: dist/podesta-*.whl and dist/podesta-*.tgz"
	@hack/packages dist

.PHONY: build-installer
build-installer: ## Write dist/install.yaml and dist/inject.yaml, with the images IMAGES and TAG.
	@echo "build-installer: dist/install.yaml and dist/inject.yaml"
	@mkdir -p dist
	@for part in default:install inject:inject; do \
	  { echo "# Podesta: kubectl apply --server-side -f $${part#*:}.yaml. Made by make build-installer from config/$${part%:*}; do not edit."; \
	    $(call MANIFESTS,$${part%:*}); } >dist/$${part#*:}.yaml; \
	done

# The chart's folder config is a link to config/, which Helm follows; test/install compares the rest.
CHART := charts/podesta
CHART_TOOL := go tool -modfile=$(CURDIR)/hack/tools/chart/go.mod
CHART_DOCS := $(CHART_TOOL) helm-docs --chart-search-root $(CHART) --sort-values-order file --log-level warning

.PHONY: chart-docs
chart-docs: ## Write the chart's README from its values.yaml.
	@echo "chart-docs: $(CHART)/README.md"
	@$(CHART_DOCS)

.PHONY: helm
helm: install-tools ## Lint, render and test the chart with Helm 4 and Helm 3, and package it into bin/.
	@echo "helm: helm-docs and helm-unittest (the first time builds them)"
	@$(CHART_DOCS) --dry-run | diff $(CHART)/README.md - || { echo "run: make chart-docs"; exit 1; }
	@$(CHART_TOOL) helm-unittest --strict $(CHART)
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

##@ Deploy to the cluster of your kubeconfig

MANIFESTS = $(INSTALL) kustomize build config/$(1) | sed -e 's|ghcr.io/podesta-dev/manager:latest|$(MANAGER_IMAGE)|' -e 's|ghcr.io/podesta-dev/agent:latest|$(AGENT_IMAGE)|'

.PHONY: install
install: ## Install the CRD.
	@$(KUBECTL) apply --server-side --force-conflicts -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRD, and with it every ElectionGroup.
	@$(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: run
run: install ## Run the manager here, with your rights. Agents reach it if podesta-roster leads to this machine.
	@go run -ldflags '-X main.version=$(VERSION)' ./cmd/manager --namespace podesta-system --leader-elect=false

.PHONY: deploy
deploy: install-tools ## Install everything with the images IMAGES and TAG: CRD, manager, policies, injection of agents.
	@$(call MANIFESTS,default) | $(KUBECTL) apply --server-side --force-conflicts -f -
	@$(call MANIFESTS,inject) | $(KUBECTL) apply --server-side --force-conflicts -f -
	@$(KUBECTL) rollout status deployment/podesta-manager --namespace podesta-system --timeout=3m

.PHONY: undeploy
undeploy: install-tools ## Remove all that deploy installed, and with the CRD every ElectionGroup.
	@$(call MANIFESTS,inject) | $(KUBECTL) delete --ignore-not-found -f -
	@$(call MANIFESTS,default) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: kind-deploy
kind-deploy: install-tools bin/cluster ## Put the working tree on a kind cluster (Docker), and print how to use it.
	@KIND_UP=$(KIND_UP) IMAGES=$(IMAGES) hack/kind/deploy

include hack/prove.mk
