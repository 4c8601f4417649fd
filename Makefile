# Needs Go, make, git and gcc (for -race), and Chromium for one test of the command line,
# which `make test` installs on Debian. Everything else is fetched by Go.
# `make help` lists the targets.

# The root module and every nested one.
MODULES := . cmd/stoic internal/benchmarks internal/e2e

# Linters, pinned: a new rule arrives with a change of these lines and nowhere else.
GOFUMPT_VERSION     := v0.12.0
STATICCHECK_VERSION := v0.8.2
GOLANGCI_VERSION    := v2.15.0

FUZZTIME ?= 30s
BENCH    ?= .

TMP := $(CURDIR)/.tmp
BIN := $(TMP)/bin

# The version is part of the file name, so that another version is another file.
GOFUMPT     := $(BIN)/gofumpt-$(GOFUMPT_VERSION)
STATICCHECK := $(BIN)/staticcheck-$(STATICCHECK_VERSION)
GOLANGCI    := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

# $(call each,command) shows and runs a command in every module, and stops at the first failure.
each = set -e; for m in $(MODULES); do (set -x; cd "$$m" && $(1)); done

# $(call install,package,version) builds a tool in $(BIN) under its versioned name.
install = mkdir -p "$(BIN)" && GOBIN="$(BIN)" go install $(1)@$(2) && mv "$(BIN)/$(notdir $(1))" "$@"

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: test
test: chromium ## every test, with the race detector and in random order; allocations and figures without it
	@$(call each,go test -run 'Alloc|Cost|Figures|DefaultComparison' ./...)
	@$(call each,go test -race -shuffle=on ./...)

.PHONY: lab
lab: ## the ten experiments of the lab in full, with their figures (about ten minutes)
	LAB_FULL=1 go test -v -count=1 -timeout 90m -run Figures ./lab/experiments

.PHONY: chromium
chromium: ## install the browser that looks at the page of the command line, on Debian
	@command -v chromium >/dev/null || { \
		sudo=$$(command -v sudo || true); \
		$$sudo apt-get update && $$sudo apt-get install -y --no-install-recommends chromium; }

.PHONY: stress
stress: ## every test of the library 20 times, with the race detector (some minutes); not the lab's figures, which are always the same
	@go test -race -shuffle=on -count=20 $$(go list ./... | grep -v -e /examples -e /lab/experiments)

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (30s), one at a time
	@set -e; for m in $(MODULES); do \
		pkgs=$$(cd "$$m" && go list ./...); \
		for pkg in $$pkgs; do \
			names=$$(cd "$$m" && go test -list '^Fuzz' "$$pkg" 2>&1) || { echo "$$names"; exit 1; }; \
			for name in $$(echo "$$names" | grep '^Fuzz' || true); do \
				echo "== $$pkg $$name"; \
				(cd "$$m" && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$pkg"); \
			done; \
		done; \
	done

.PHONY: bench
bench: ## the benchmarks of the library (BENCH=regexp selects)
	@go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: bench-peers
bench-peers: ## compare with other libraries (some minutes) and rewrite docs/benchmarks.md
	@cd internal/benchmarks && go run ./cmd/peers -write "$(CURDIR)/docs/benchmarks.md"

.PHONY: cover
cover: ## test coverage: a profile and the total, in .tmp/
	@mkdir -p "$(TMP)"
	@pkgs=$$(go list ./... | grep -v /examples | paste -s -d , -) && \
		go test -covermode=atomic -coverpkg="$$pkgs" -coverprofile="$(TMP)/cover.out" ./...
	@go tool cover -func="$(TMP)/cover.out" > "$(TMP)/cover.txt"
	@tail -n 1 "$(TMP)/cover.txt"

.PHONY: lint
lint: $(GOFUMPT) $(STATICCHECK) ## go vet, gofumpt, staticcheck; golangci-lint when it is installed
	@$(call each,go vet ./...)
	@echo "+ gofumpt -l"
	@files=$$(find . -path './.*' -prune -o -name '*.go' -print | xargs "$(GOFUMPT)" -l) && \
		{ [ -z "$$files" ] || { echo "not formatted, run $(GOFUMPT:$(CURDIR)/%=%) -w:"; echo "$$files"; exit 1; }; }
	@$(call each,"$(STATICCHECK)" ./...)
	@golangci="$(GOLANGCI)"; \
	if [ ! -x "$$golangci" ]; then \
		golangci=$$(PATH="$(BIN):$$PATH" command -v golangci-lint || true); \
		[ -n "$$golangci" ] && [ "v$$("$$golangci" version --short)" = "$(GOLANGCI_VERSION)" ] || golangci=; \
	fi; \
	if [ -n "$$golangci" ]; then \
		$(call each,"$$golangci" run ./...); \
	else \
		echo "golangci-lint $(GOLANGCI_VERSION) is not installed and was skipped; make lint-full installs it (about four minutes)"; \
	fi

.PHONY: lint-full
lint-full: $(GOLANGCI) ## install golangci-lint too (about four minutes, once), then lint
	@$(MAKE) --no-print-directory lint

.PHONY: tidy-check
tidy-check: ## fail when go mod tidy would change something
	@$(call each,go mod tidy -diff)

.PHONY: quickstart
quickstart: ## run the first example
	@go run ./examples/quickstart

$(GOFUMPT):
	$(call install,mvdan.cc/gofumpt,$(GOFUMPT_VERSION))

$(STATICCHECK):
	$(call install,honnef.co/go/tools/cmd/staticcheck,$(STATICCHECK_VERSION))

$(GOLANGCI):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_VERSION))
