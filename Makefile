# Every target does its own set-up. Settings of "make scenarios":
#   FOCUS=regexp  LANE=netns  KERNEL=native|guest  AGENT=/path/to/agent  JOBS=n
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
# The race detector needs a C compiler.
RACE := $(if $(shell type -P gcc),-race)
export PATH := $(PATH):/usr/sbin:/sbin

.PHONY: help setup build scenarios faults test unit lint clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12
	@sed -n '1,/^SHELL/s/^# \?//p' $(MAKEFILE_LIST)

setup: ## install missing packages (needs root only then; starts no service)
	ci/setup

build: ## compile everything into bin/
	mkdir -p bin
	CGO_ENABLED=0 go build -o bin/ ./cmd/...
	for fault in D1 D16; do CGO_ENABLED=0 go build -ldflags "-X main.fault=$$fault" -o bin/faulty-$$fault ./scenarios/defects/faulty; done
	CGO_ENABLED=0 go test -c -o bin/scenarios.test ./scenarios

scenarios: setup build ## play the scenarios, with a table at the end; evidence goes to out/
	bin/testbed run $(if $(FOCUS),--focus '$(subst ','\'',$(FOCUS))') $(if $(LANE),--lane '$(LANE)') $(if $(KERNEL),--kernel '$(KERNEL)') \
		$(if $(AGENT),--agent '$(AGENT)') $(if $(JOBS),--jobs '$(JOBS)')

faults: setup build ## show that the scenarios D1 and D16 fail for an agent with that defect
	ci/faults $(if $(KERNEL),--kernel '$(KERNEL)')

test: setup lint unit faults ## all tests: lint, packages, scenarios
	$(MAKE) scenarios

unit: setup ## tests of the packages, with the race detector and once more in the guest
	go test $(RACE) -timeout 30m $$(go list ./... | grep -v '/scenarios$$')
	$(if $(RACE),go test -timeout 30m ./netns/...)
	CGO_ENABLED=0 go build -o bin/ ./cmd/testbed
	CGO_ENABLED=0 go test -c -o bin/kernel.test ./agent/kernel
	if type -P linux.uml >/dev/null; then bin/testbed guest bin/kernel.test -test.v -test.run 'Device|VRF|Dotted' -test.timeout 10m; fi

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -l .); [[ -z $$unformatted ]] || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

clean: ## remove everything made, and what killed runs left behind
	go run ./cmd/testbed clean
	rm -rf bin out
