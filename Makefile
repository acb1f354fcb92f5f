# Everything a developer or a CI runs. A fresh machine needs Go, git and make;
# the linter and krew are Go tools pinned in test/tools.

SHELL := /bin/sh

NAME    := kubectl-certrot
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)

# The whole of what tells one build from another; no time, no host, no path.
LDFLAGS = -s -w -X main.version=$(VERSION)

# Static binaries that hold no paths. The same flags for build, vet, test and lab:
# Go then compiles each package of Kubernetes once and not twice. The version
# comes by LDFLAGS, so Go need not ask git (which may not be there).
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(filter-out -buildvcs=% -trimpath,$(GOFLAGS)) -buildvcs=false -trimpath)

# Every Go module of the checkout; fixtures and the lab's machines are not ours to check.
MODULES = $(shell find . \( -name .git -o -name .lab -o -name testdata -o -name dist \) -prune -o -name go.mod -exec dirname {} \;)

# Packages whose tests have a step of their own in `make test`, and the rest.
UNIT_PACKAGES = $(shell go list ./... | grep -v -e '/test/' -e '/completions$$')
LAB_PACKAGES  = $(shell go list ./test/... | grep -v -e '/test/floors$$' -e '/test/summary$$' -e '/test/mutate$$' -e '/test/changed$$' -e '/test/catalogreview$$')

# What `make test` does, in this order: what is needed by the others, then what fails fast. The lab's
# tests mostly wait, for kubelets and time limits, so the last steps run beside them; what keeps the
# processor busy does not: labs take a core while they wait for it.
STEPS ?= compile lint verify floors unit completions release demo test-lab
# Long targets that run behind them: go run ./test/changed targets names those that a change needs.
LONG ?=
# They begin only within this time of the start, such as 40m; 0s: always.
LONG_BEFORE ?= 0s
# They are stopped when so long has passed since the start; 0s: never.
LONG_UNTIL ?= 0s
# TESTFLAGS=-json is how `make test` counts; set it to -run=… or -v by hand.
TESTFLAGS ?=

# Tests make much garbage and keep little: collecting it at each doubling of so small a heap took
# a third of their time. What the linter and the program take is not changed.
GC = GOGC=400 GOMEMLIMIT=2GiB

# The lab's components are seventy lines of ours on top of all of Kubernetes; their
# rotation, a benchmark's program, the tests of dates and of kubectl's commands some
# hundred on top of OpenShift's and kubectl's libraries, which the linters would read as well, for many minutes: the
# compiler has to do there.
LINT_MODULES = $(filter-out ./test/lab/components ./test/lab/components/rotation ./test/bench/peers/certgraph ./test/dates ./test/kubectl,$(MODULES))

GOLANGCI_LINT = go tool -modfile='$(CURDIR)/test/tools/go.mod' golangci-lint

FUZZTIME ?= 30s

# Where `make install` puts things: PREFIX=/usr/local, or where Go installs.
PREFIX ?=
BINDIR ?= $(if $(PREFIX),$(PREFIX)/bin,$(or $(shell go env GOBIN),$(shell go env GOPATH)/bin))

DEMO ?= testdata/demo/okd-4.15-api-int.certrot

.DEFAULT_GOAL := help
.PHONY: help build install demo check test ci unit every-step dates fuzz-inputs catalog-review compile race lint generate verify fuzz floors completions release test-lab bench loaded test-e2e mutate golden clean dist reproduce vulncheck

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9A-Z_-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/kubectl-certrot
	@go build -ldflags '$(LDFLAGS)' -o bin/$(NAME) ./cmd/$(NAME)

install: build ## install the plugin and its completion for kubectl and oc (PREFIX=, else GOBIN)
	@set -eu; dir='$(BINDIR)'; mkdir -p "$$dir"; \
	install -m 0755 bin/$(NAME) "$$dir/$(NAME)"; \
	for shim in kubectl_complete-certrot oc_complete-certrot; do \
		install -m 0755 completions/kubectl_complete-certrot "$$dir/$$shim"; \
	done; \
	echo "installed $(NAME) $(VERSION), kubectl_complete-certrot and oc_complete-certrot in $$dir"; \
	case ":$$PATH:" in \
		*":$$dir:"*) echo "try: kubectl certrot version, oc certrot version" ;; \
		*) echo "kubectl and oc look for plugins on PATH, and $$dir is not there: export PATH=\"$$dir:\$$PATH\"" ;; \
	esac

# The plugin takes the name by which it was called from the shell's variable _.
AS_OC = env _=/usr/bin/oc

demo: build ## show the main job on sample data (a cluster after its api-int CA rotated)
	@set -u; echo '$$ oc certrot inspect --from $(DEMO)'; code=0; \
	$(AS_OC) bin/$(NAME) inspect --from '$(DEMO)' || code=$$?; \
	if [ "$$code" -ne 1 ]; then \
		echo "demo: inspect ended with $$code; these data have findings, so it must be 1" >&2; exit 1; \
	fi; \
	echo; echo "inspect ended with 1, as it should: there are findings."; \
	echo; echo '$$ oc certrot verify api-int --from $(DEMO)'; code=0; \
	$(AS_OC) bin/$(NAME) verify api-int --from '$(DEMO)' || code=$$?; \
	if [ "$$code" -ne 1 ]; then \
		echo "demo: verify ended with $$code; in these data nodes do not trust api-int, so it must be 1" >&2; exit 1; \
	fi; \
	for form in "" "-o diff"; do \
		echo; echo '$$ oc certrot fix-api-int --from $(DEMO) --nodes worker-2 --dry-run=client' $$form; code=0; \
		$(AS_OC) bin/$(NAME) fix-api-int --from '$(DEMO)' --nodes worker-2 --dry-run=client $$form || code=$$?; \
		if [ "$$code" -ne 1 ]; then \
			echo "demo: fix-api-int ended with $$code; there is something to do, so it must be 1" >&2; exit 1; \
		fi; \
	done; \
	echo; echo "fix-api-int ended with 1, as a dry run does that would change something."

test: ## everything: compile, lint, verify, floors, unit, completions, release, lab, demo
	@go build -o bin/summary ./test/summary
	@bin/summary -make '$(MAKE)' -beside test-lab -beside-from completions -long '$(LONG)' -long-before '$(LONG_BEFORE)' -long-until '$(LONG_UNTIL)' -o bin/test-summary.json $(STEPS) $(LONG)

# Against the last commit; where nothing has changed since, that commit. CERTROT_BASE
# names another.
check: ## before each commit: format, floors, lint and short unit tests of what changed
	@set -eu; go list -export -f "" ./... >/dev/null; \
	lint=$$(go run ./test/changed lint) tests=$$(go run ./test/changed test); \
	bad=$$(for dir in $$lint; do gofmt -l $$dir/*.go; done); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w: $$bad" >&2; exit 1; fi; \
	$(GC) go test $(TESTFLAGS) ./test/floors ./test/mutate; \
	[ -z "$$lint" ] || $(GOLANGCI_LINT) run $$lint; \
	[ -z "$$tests" ] || $(GC) go test -short -vet=off $(TESTFLAGS) $$tests

# What only `make bench` runs is left out. A lab is built where there must be one: it takes
# gigabytes, and elsewhere its tests are skipped until `make lab-up`.
compile: ## compile what tests need: minutes, with empty caches
	@set -eu; for m in $(filter-out ./test/tools ./test/dates ./test/bench/peers/certgraph ./test/lab/components%,$(MODULES)); do \
		(cd "$$m" && go list -export -test -f '' ./...); \
	done; \
	go list -modfile=test/tools/go.mod -export -f '' tool; \
	[ "$${CERTROT_REQUIRE_LAB:-}" != 1 ] || go run ./test/lab build

# What lint reads needs no vet here; the modules that it leaves out do. Some packages mostly
# wait, so there are three at a time. plugin's tests build thousands of commands, which cobra never
# forgets (it keeps each flag's completion in a global map), so two processes have half of them each.
PLUGIN_HALF = ^Test[A-L]
unit: ## unit tests of every module
	@set -u; failed=0; \
	$(GC) go test -vet=off -timeout 30m -p 3 $(TESTFLAGS) $(filter-out %/plugin,$(UNIT_PACKAGES)) ./test/summary ./test/mutate ./test/changed ./test/catalogreview || failed=1; \
	tmp=$$(mktemp -d); \
	$(GC) go test -vet=off -timeout 30m -run '$(PLUGIN_HALF)' $(TESTFLAGS) ./plugin >$$tmp/half 2>&1 & half=$$!; \
	$(GC) go test -vet=off -timeout 30m -skip '$(PLUGIN_HALF)' $(TESTFLAGS) ./plugin || failed=1; \
	wait $$half || failed=1; cat $$tmp/half; rm -r $$tmp; \
	for m in $(filter-out . ./test/release ./test/dates,$(MODULES)); do \
		if (cd "$$m" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}x{{end}}' ./... 2>/dev/null | grep -q x); then \
			(cd "$$m" && $(GC) go test $(TESTFLAGS) ./...) || failed=1; \
		fi; \
	done; exit $$failed

every-step: ## unit tests that interrupt every step, take every input (go run ./test/changed targets)
	@CERTROT_EVERY_STEP=1 $(GC) go test -count=1 -vet=off -timeout 60m $(TESTFLAGS) ./inspect/collect/... ./nodeexec/host ./remediate/... ./plugin

dates: ## the dates of renewals, against library-go and client-go (go run ./test/changed targets)
	@cd test/dates && $(GC) go test -count=1 $(TESTFLAGS) ./...

fuzz-inputs: ## fuzz every Fuzz* function for 10 s (go run ./test/changed targets)
	@sh test/fuzz.sh 10s $(TESTFLAGS)

race: ## unit tests with the race detector (needs a C compiler)
	@CGO_ENABLED=1 go test -race $(TESTFLAGS) $(UNIT_PACKAGES)

# Its govet has all analyzers of go vet, which would read all of Kubernetes once more.
lint: ## golangci-lint, go vet's analyzers among it
	@set -u; failed=0; for m in $(LINT_MODULES); do \
		if [ -n "$$(cd "$$m" && go list ./... 2>/dev/null)" ]; then \
			(cd "$$m" && $(GOLANGCI_LINT) run ./...) || { echo "golangci-lint failed in $$m" >&2; failed=1; }; \
		fi; \
	done; exit $$failed

# Writes below $(OUT), so that verify can ask for a second copy. What tests can
# compare by themselves (goldens, docs/checks.md, docs/catalog.md) is golden's.
OUT ?= .
generate: build ## write the generated files again (shell completions)
	@set -eu; mkdir -p '$(OUT)/completions'; \
	for s in bash zsh fish powershell; do \
		ext=$$s; [ $$s != powershell ] || ext=ps1; \
		bin/$(NAME) completion $$s >'$(OUT)/completions/certrot.'$$ext; \
	done

verify: ## generated files are current, go.mod files tidy, Go files formatted
	@set -u; failed=0; \
	for m in $(MODULES); do \
		(cd "$$m" && go mod tidy -diff) || { echo "go.mod or go.sum is not tidy: cd $$m && go mod tidy" >&2; failed=1; }; \
	done; \
	bad=$$(find . \( -name .git -o -name .lab -o -name testdata \) -prune -o -name '*.go' -exec gofmt -l {} +); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w: $$bad" >&2; failed=1; fi; \
	tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	if $(MAKE) -s --no-print-directory generate OUT="$$tmp"; then \
		for f in $$(cd "$$tmp" && find . -type f); do \
			diff -u "$$f" "$$tmp/$$f" || { echo "$$f is not what make generate writes" >&2; failed=1; }; \
		done; \
	else echo "make generate failed" >&2; failed=1; fi; \
	exit $$failed

fuzz: ## fuzz every Fuzz* function, one at a time (FUZZTIME=30s each)
	@sh test/fuzz.sh '$(FUZZTIME)' $(TESTFLAGS)

floors: ## the architecture: who may import whom
	@go test -count=1 $(TESTFLAGS) ./test/floors

completions: build ## shell completions: current, and working as kubectl and oc run them
	@CERTROT_BIN='$(CURDIR)/bin/$(NAME)' go test -count=1 $(TESTFLAGS) ./completions

release: ## what make dist makes, for this platform: the same bytes again, and krew install of it
	@cd test/release && go test -count=1 -timeout 30m $(TESTFLAGS) ./...

# Two labs, two cores: see the script. Building the lab's components takes minutes,
# once.
test-lab: build ## tests against real parts (test/lab)
	@CERTROT_BIN='$(CURDIR)/bin/$(NAME)' sh test/labtests.sh '$(TESTFLAGS)' $(LAB_PACKAGES)

# The order of tests is by a seed, in the log with the commit and the seconds.
loaded: build ## RUNS=1 whole runs of test/e2e while BUSY=2 loops keep both cores busy, a line each in test/e2e/loaded.jsonl
	@go build -o bin/summary ./test/summary; failed=0; \
	for run in $$(seq $(or $(RUNS),1)); do \
		CERTROT_REQUIRE_LAB=1 bin/summary -make '$(MAKE)' -busy $(or $(BUSY),2) -shuffle "$$(date +%s)" -log test/e2e/loaded.jsonl test-e2e || failed=1; \
	done; exit $$failed

test-e2e: build
	@CERTROT_BIN='$(CURDIR)/bin/$(NAME)' sh test/labtests.sh '$(TESTFLAGS)' $(shell go list ./test/e2e)

bench: ## run the benchmarks (BENCH=large too; BENCHTIME=9x turns; UPDATE=1 writes docs/performance.md)
	@go test -run '^$$' -bench . -benchmem $(TESTFLAGS) $(UNIT_PACKAGES)
	@BENCH='$(BENCH)' UPDATE='$(UPDATE)' go test -run '^$$' -bench . -benchtime '$(or $(BENCHTIME),9x)' -timeout 120m -v $(TESTFLAGS) ./test/bench

mutate: ## change the code in MUTANTS=300 places, one at a time, and see whether its tests notice (SEED=1)
	@mkdir -p bin; go run ./test/mutate -seed '$(or $(SEED),1)' -n '$(or $(MUTANTS),300)' -state bin/mutants.jsonl -goal 0.9

catalog-review: ## files that rows cite and that changed since their review: REPO=openshift/NAME GIT=its clone BRANCH=release-X.Y (AFTER=DAY: its merges since then); or SAMPLE=70 SEED=N rows
	@go run ./test/catalogreview -repo '$(REPO)' -git '$(GIT)' -branch '$(BRANCH)' -since '$(SINCE)' -after '$(AFTER)' -sample '$(or $(SAMPLE),0)' -seed '$(or $(SEED),0)'

# The demo's data first: others print what is in them.
golden: ## rewrite golden files from what the code does now; read the diff
	@UPDATE=1 go test -count=1 $(TESTFLAGS) ./test/demo
	@UPDATE=1 go test -count=1 $(TESTFLAGS) $(UNIT_PACKAGES) ./test/demo/picture

clean: ## remove what build and dist made
	@rm -rf bin dist

# Such as linux/amd64,linux/s390x; empty: all.
PLATFORMS ?=
# krew wants a semantic version; a checkout between tags still gets an archive.
DIST_VERSION = $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-$(VERSION))
dist: ## a release in dist/: archives, packages, image, bills of materials, checksums, manifest (PLATFORMS=linux/amd64)
	@cd test/release && go run . -root '$(CURDIR)' -version '$(DIST_VERSION)' -out '$(CURDIR)/dist' -platforms '$(PLATFORMS)'

reproduce: dist ## make dist again, of a copy and without a build cache: the same bytes? (go run ./test/changed targets)
	@cd test/release && CERTROT_DIST='$(CURDIR)/dist' CERTROT_VERSION='$(DIST_VERSION)' CERTROT_PLATFORMS='$(or $(PLATFORMS),all)' CERTROT_EMPTY_CACHE=1 go test -count=1 -timeout 60m -run TestSameBytes $(TESTFLAGS) .

# The database is online: without it the answer is skipped, but not where CI is set.
vulncheck: ## known vulnerabilities in what is linked, by govulncheck
	@cd test/release && go build -o '$(CURDIR)/bin/govulncheck' golang.org/x/vuln/cmd/govulncheck
	@set -u; code=0; out=$$(bin/govulncheck ./cmd/... 2>&1) || code=$$?; printf '%s\n' "$$out"; \
	case "$$out" in *"fetching vulnerabilities"*|*"no such host"*|*"dial tcp"*) \
		if [ -z "$${CI:-}" ]; then echo "vulncheck: skipped: database not reachable"; exit 0; fi ;; \
	esac; exit $$code

-include Makefile.lab
