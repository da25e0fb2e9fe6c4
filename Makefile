# All commands of the project, used by developers, the README and CI. Each target builds its prerequisites: a fresh clone
# with Python >= 3.10, a Rust toolchain and make is enough.

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check

# All files below the folders $1 whose names match the patterns $2, without calling find.
rwildcard = $(foreach path,$(wildcard $(addsuffix /*,$1)),$(call rwildcard,$(path),$2) $(filter $(subst *,%,$2),$(path)))

# Python sources are installed as links, so only these files make the extension out of date.
RUST_SOURCES := Cargo.toml Cargo.lock $(wildcard rust/*/Cargo.toml) $(call rwildcard,$(wildcard rust/*/src),*.rs)

# Stamp files of completed steps in the virtual environment; each step waits for an earlier one. Two pip processes must not
# run in the environment at the same time, but the last four steps do not wait for each other, and WHEEL_TOOLS waits only
# for CREATED. So with `make -j`, pass only targets that need the same one of the four steps, and run `make wheel` alone.
CREATED := $(VENV)/stamp-created
TEST_TOOLS := $(VENV)/stamp-test-tools
EXTENSION := $(VENV)/stamp-extension
LINT_TOOLS := $(VENV)/stamp-lint-tools
BENCH_TOOLS := $(VENV)/stamp-bench-tools
DOCS_TOOLS := $(VENV)/stamp-docs-tools
WHEEL_TOOLS := $(VENV)/stamp-wheel-tools

# cargo and maturin build the extension for this interpreter, not for the first one on PATH.
export PYO3_PYTHON := $(abspath $(PY))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: compare
compare: $(EXTENSION) ## compare the aggregators on the embedded datasets
	$(PY) -m bucketrank compare

# The paper's datasets and published tables are not part of the project; SHARED is the folder that contains them.
SHARED ?= ../shared
DATA ?= $(SHARED)/data
PAPER ?= $(SHARED)/paper
SEED ?= 0
REPORT ?= reproduce.html
ACCURACY ?= accuracy.md
PUBLISHED ?= $(wildcard $(SHARED)/design/NUMBERS.md)

.PHONY: reproduce
reproduce: $(EXTENSION) ## run the paper's study on DATA=folder and compare with the published tables
	$(PY) scripts/reproduce.py --data $(DATA) --paper $(PAPER) --seed $(SEED) --report $(REPORT)

.PHONY: accuracy
accuracy: $(EXTENSION) ## measure the accuracy of all methods on DATA=folder, write it to ACCURACY=file
	$(PY) scripts/accuracy.py --data $(DATA) --output $(ACCURACY) --baselines $(addprefix --published ,$(PUBLISHED))

.PHONY: leave-one-out
leave-one-out: $(EXTENSION) ## for each dataset of DATA=folder, score the mixture's constants chosen on the other datasets
	$(PY) scripts/leave_one_out.py --data $(DATA)

.PHONY: regret
regret: $(EXTENSION) ## compare the ranker with its components on generated datasets
	$(PY) scripts/regret.py

# Warnings are errors. Nothing is fetched: formulas, search and fonts are part of the site.
SITE := docs/_build/html

.PHONY: docs
docs: $(EXTENSION) $(DOCS_TOOLS) ## build the documentation into docs/_build/html
	$(PY) -m sphinx --fail-on-warning --keep-going --jobs 2 --quiet docs $(SITE)
	$(PY) scripts/check_links.py $(SITE)

.PHONY: develop
develop: $(EXTENSION) ## build the extension and install the package into .venv

.PHONY: test
test: test-rust test-python ## run all tests: Rust, Python, doctests, the README's code

# The extension is tested from Python, the benches by running them.
.PHONY: test-rust
test-rust: ## run the Rust tests and doctests
	cargo test --workspace --exclude bucketrank-py --exclude bucketrank-benches --locked

.PHONY: test-python
test-python: $(EXTENSION) ## run the Python tests, doctests and the README's code
	$(PY) -m pytest

# The package is called chromium on Debian and its derivatives; elsewhere install Chromium and its driver manually.
.PHONY: browser
browser: docs ## test the report page and the documentation in a real browser (installs Chromium if possible)
	@if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then \
		echo "apt-get install chromium chromium-driver"; \
		apt-get install --yes --no-install-recommends chromium chromium-driver \
			|| sudo -n apt-get install --yes --no-install-recommends chromium chromium-driver \
			|| echo "Chromium cannot be installed here: the tests will be skipped"; \
	fi
	$(PY) -m pytest -rs tests/browser

.PHONY: lint
lint: lint-rust lint-licences lint-advisories lint-python lint-stubs lint-workflows ## check format, lints, types, stubs, licences, workflows

.PHONY: lint-rust
lint-rust: $(CREATED)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude bucketrank-benches --no-deps --locked --quiet

.PHONY: lint-licences
lint-licences: $(LINT_TOOLS)
	@if cargo deny --version >/dev/null 2>&1; then \
		echo "cargo deny check licenses bans sources"; cargo deny --locked check licenses bans sources; \
	else \
		echo "$(PY) scripts/check_licences.py"; $(PY) scripts/check_licences.py; \
	fi

# Checks for known vulnerabilities with the local list; the workflow downloads the newest list.
ADVISORIES := $(wildcard $(or $(CARGO_HOME),$(HOME)/.cargo)/advisory-dbs/*)

.PHONY: lint-advisories
lint-advisories:
	@if ! cargo deny --version >/dev/null 2>&1; then \
		echo "Rust crates: advisories NOT CHECKED, because cargo-deny is not installed"; \
	elif [ -z "$(ADVISORIES)" ]; then \
		echo "Rust crates: advisories NOT CHECKED, because their database was never fetched (cargo deny fetch db)"; \
	else \
		echo "cargo deny --offline check advisories"; cargo deny --locked --offline check advisories; \
	fi

.PHONY: lint-python
lint-python: $(LINT_TOOLS)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

.PHONY: lint-stubs
lint-stubs: $(LINT_TOOLS) $(EXTENSION)
	$(PY) -m mypy.stubtest --allowlist scripts/stubtest_allowlist.txt bucketrank._core

.PHONY: lint-workflows
lint-workflows: $(LINT_TOOLS)
	$(BIN)/zizmor --offline --quiet .github/workflows
	$(PY) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PY) -m check_jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/shellcheck .ci/run

.PHONY: format
format: $(LINT_TOOLS) ## rewrite the sources in the project's format
	cargo fmt --all
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

# New random examples of tests/test_fuzz.py; a failure prints its seed and the smallest example.
SECONDS ?= 60

.PHONY: fuzz
fuzz: $(EXTENSION) ## try random calls, texts and files for SECONDS=60
	$(PY) scripts/fuzz.py $(SECONDS)

.PHONY: coverage
coverage: $(EXTENSION) ## measure the lines that the tests cover (needs llvm-tools of rustup, or llvm-22)
	$(PIP) install --group coverage
	$(PY) scripts/measure_coverage.py

# A seeded sample of mutants of the core, compiled into one copy of the workspace; each is run against the Rust tests that
# reach it, and with MUTANTS="--python tests/test_x.py" the survivors against Python tests. Fails below 92 % caught. Not
# part of CI.
MUTANTS ?=

.PHONY: mutants
mutants: $(EXTENSION) ## see whether the tests detect changes to the core (needs cargo-mutants; MUTANTS="--sample 50")
	$(PIP) install --group mutants
	$(PY) scripts/mutants.py $(MUTANTS)

# Pseudo-random profiles against the exact reference, and memory over many predictions; takes some minutes.
.PHONY: soak
soak: $(EXTENSION) ## compare a million aggregations with the reference, and watch memory over 100,000 predictions
	$(PY) scripts/soak.py

# Fails for a known vulnerability. Says what was not checked; STRICT=1 fails for that too.
.PHONY: audit
audit: lint-advisories $(CREATED) ## look for known vulnerabilities, and say what was not checked (STRICT=1 fails for it)
	@$(PIP) install --group audit || echo "pip-audit cannot be installed"
	$(PY) scripts/audit.py $(if $(STRICT),--strict)

.PHONY: bench
bench: $(EXTENSION) $(BENCH_TOOLS) ## measure the kernels, then compare with other libraries
	cargo bench --locked
	$(PY) benches/peers.py

# The wheel is built from the sdist, so both are tested by one compilation. On Linux zig links it to an old glibc, as the
# containers of the workflow do; WHEEL_OPTIONS= builds for this machine only.
ifeq ($(shell uname -s),Linux)
WHEEL_OPTIONS ?= --zig --compatibility manylinux2014
endif

.PHONY: wheel
wheel: $(WHEEL_TOOLS) ## build the sdist, a wheel from it, and test the wheel in fresh environments
	rm -rf dist
	$(PY) -m maturin sdist --out dist
	PATH="$(abspath $(BIN)):$$PATH" CARGO_TARGET_DIR="$(abspath target)" MATURIN_PEP517_ARGS="$(WHEEL_OPTIONS)" \
		$(PY) -m pip wheel --no-build-isolation --no-deps --wheel-dir dist dist/*.tar.gz
	$(PY) scripts/try_distributions.py dist

.PHONY: clean
clean: ## remove everything that was built
	cargo clean
	rm -rf docs/_build docs/api/generated docs/gallery docs/generated
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f python/bucketrank/_core.*.so python/bucketrank/_core.pyd

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python >= 3.10 is needed: make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install "pip>=25.1"
	@touch $@

$(TEST_TOOLS): pyproject.toml | $(CREATED)
	$(PIP) install --group test
	@touch $@

$(EXTENSION): $(TEST_TOOLS) $(RUST_SOURCES)
	VIRTUAL_ENV="$(abspath $(VENV))" PIP_QUIET=1 $(PY) -m maturin develop --release --locked
	@touch $@

$(LINT_TOOLS): pyproject.toml | $(EXTENSION)
	$(PIP) install --group lint
	@touch $@

$(DOCS_TOOLS): pyproject.toml | $(EXTENSION)
	$(PIP) install --group docs
	@touch $@

$(WHEEL_TOOLS): pyproject.toml | $(CREATED)
	$(PIP) install --group wheel
	@touch $@

$(BENCH_TOOLS): pyproject.toml | $(EXTENSION)
	$(PIP) install --group bench
	@touch $@
