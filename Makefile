# The front door. Each target installs what it needs into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DEMO_DATA := data/passwords_yahoo.csv

# Without compiled files each of the many commands that tests start would compile dphist again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test coverage check verify test-container chromium office proofs audit mutants mutants-random bench bench-tables size base architecture docs format clean

# A worker that dies ends the run, with the name of its test: pytest-xdist may wait for ever if it
# starts another one when few tests are left.
SPREAD := --max-worker-restart=0 --dist

# The tests of `make test`, after the name of a Python.
FAST := -m pytest -m "not audit and not verify" -n 2 $(SPREAD) loadfile

# Two workers use both cores; threads of theirs would wait for each other.
test coverage verify: export OPENBLAS_NUM_THREADS = 1

demo: $(VENV)/.run
	@mkdir -p demo
	$(BIN)/dphist anonymize $(DEMO_DATA) --epsilon 1 \
	  --output demo/release.json --table demo/release.csv --report demo/report.html --overwrite

# TESTS=tests/noise runs some of the tests of a target.
test: $(VENV)/.dev
	$(BIN)/python $(FAST) --durations=60 --durations-min=1 $(TESTS)

# Lines and branches that the tests of `make test` do not run.
coverage: $(VENV)/.dev
	$(BIN)/python $(FAST) --cov --cov-report=term $(TESTS)

# More than cores: a third of the time they wait for other processes. Who is done takes tests of
# others: the longest, such as a session of Spark, are not the last that one worker has left.
WORKERS := 3
verify: $(VENV)/.verify chromium office
	$(BIN)/python -m pytest -m "verify and not audit" -n $(WORKERS) $(SPREAD) worksteal \
	  --durations=60 --durations-min=4 $(TESTS)

# The kernel's limit of memory, as in a container: as root, where there are control groups of version 2.
DPHIST_CGROUP ?= /sys/fs/cgroup
test-container: $(VENV)/.dev
	DPHIST_CGROUP=$(DPHIST_CGROUP) $(BIN)/python -m pytest -m container tests/commands/test_faults.py

# Pages are checked in Chromium. Fonts: Chinese and emoji are among the labels of the tests.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq \
	       && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	            chromium fonts-dejavu-core fonts-noto-cjk fonts-noto-color-emoji >/dev/null; } \
	  || { echo "make verify needs Chromium: install it, on Debian as root with" \
	            "'apt-get install chromium'" >&2; exit 1; }

# Workbooks are opened in LibreOffice, and the example in R runs, with Python in it by reticulate.
office:
	@{ command -v soffice && Rscript -e 'library(reticulate)'; } >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq \
	       && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	            libreoffice-calc r-base-core r-cran-reticulate >/dev/null; } \
	  || { echo "make verify needs LibreOffice Calc and R with reticulate: install them, on Debian as" \
	            "root with 'apt-get install libreoffice-calc r-base-core r-cran-reticulate'" >&2; exit 1; }

# The proofs that Coq checks: formal/*.v. Takes about a minute, and installs Coq on Debian as root.
proofs: $(VENV)/bin/python
	@{ command -v coqc >/dev/null && echo 'From mathcomp Require Import ring zify.' > $(VENV)/.coq.v \
	   && coqc -w none -o /dev/null $(VENV)/.coq.v 2>/dev/null; } \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq \
	       && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	            coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics \
	            libcoq-mathcomp-zify >/dev/null; } \
	  || { echo "make proofs needs Coq 8.16 and MathComp: on Debian as root 'apt-get install coq" \
	            "libcoq-mathcomp-algebra-tactics libcoq-mathcomp-zify'" >&2; exit 1; }
	$(BIN)/python -m formal

# Cases that take long, and an hour of audits; the table goes into docs/guides/audit.md. AUDITED="RankSplit ledger" audits some.
AUDIT_SECONDS := 3600
audit: $(VENV)/.verify
	$(BIN)/python -m pytest -m audit -n 2 $(TESTS)
	$(BIN)/python -m benchmarks.everything_audited --seconds $(AUDIT_SECONDS) --write docs/guides/audit.md \
	  $(AUDITED)

# Each planted privacy bug in a copy: mutants/*.toml. MUTANTS="noise tree-*" runs some of them.
mutants: $(VENV)/.dev
	$(BIN)/python -m mutants $(MUTANTS)

# Small changes of the trusted modules, drawn at random: what does no test see? Takes hours; stopped, it
# goes on where it was if the seed is given again: CHANGES="--seed 36 --changes 400".
mutants-random: $(VENV)/.dev
	nice -n 10 $(BIN)/python -m mutants.at_random $(CHANGES)

# British spellings in public names, of dphist (`dh.audit(neighbours=...)`), NumPy and diffprivlib.
PUBLIC_NAMES := neighbours,writeable,randomise

# mypy reads the tests of every target: what they import has to be there.
check: $(VENV)/.verify
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell *.md docs src examples benchmarks mutants
	$(BIN)/codespell --builtin en-GB_to_en-US $$(git ls-files '*.md')
	$(BIN)/codespell --builtin en-GB_to_en-US -L $(PUBLIC_NAMES) \
	  src docs examples benchmarks mutants releasing

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Ratios of speed beside those of benchmarks/kept/table.csv, in five minutes.
bench: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.kept $(BENCH_OPTIONS)

# Some of the tables of docs/understand/lab-notes.
TABLES := noise release_time expected_error pages
bench-tables: $(VENV)/.bench
	set -e; for table in $(TABLES); do $(BIN)/python -m benchmarks.$$table; done

# Lines of src/ by room, and which files and functions are too long.
size: $(VENV)/bin/python
	$(BIN)/python -m benchmarks.size

# The trusted base: files and lines of each part.
base: $(VENV)/bin/python
	@$(BIN)/python -m benchmarks.base

# The picture of ARCHITECTURE.md, from the import contract and what rooms say of themselves.
architecture: $(VENV)/.run
	$(BIN)/python -m benchmarks.architecture

# The site, from the Markdown in docs; docs/_build/html/index.html opens it. Nothing is downloaded.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

# --- Releases: what is published, and with which versions of what it needs ---
# The newest Python that starts; a version manager may have names that do not.
NEWEST_PYTHON ?= $(shell for v in 14 13 12 11; do python3.$$v -c '' 2>/dev/null \
                   && { echo python3.$$v; break; }; done)
OLDEST_PYTHON ?= $(PYTHON)
.PHONY: reviewers-kit release-check test-oldest test-newest constraints

release-check: $(VENV)/.release
	$(BIN)/python -m releasing $(RELEASE_OPTIONS)

# One archive for an outside review of the trusted base, into dist/.
reviewers-kit: $(VENV)/.dev
	$(BIN)/python -m releasing.reviewers_kit

# The tests of `make test` with the oldest allowed version of every dependency, on the oldest Python.
test-oldest:
	$(OLDEST_PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/python -V
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints/oldest.txt -e '.[dev]'
	OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python $(FAST) $(TESTS)

# And with the newest versions of today, on the newest Python here.
test-newest:
	$(NEWEST_PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -V
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --upgrade --upgrade-strategy eager -e '.[dev]'
	OPENBLAS_NUM_THREADS=1 .venv-newest/bin/python $(FAST) $(TESTS)

# After a change of the bounds in pyproject.toml.
constraints: $(VENV)/.release
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 \
	  --extra spark --extra postgres --extra sign --extra accounting --extra opendp \
	  --extra disclose --extra excel --extra dev pyproject.toml --constraints constraints/also.txt \
	  --no-header --no-annotate --output-file constraints/.made
	{ sed -n '/^#/p' constraints/oldest.txt; cat constraints/.made; } > constraints/.whole
	mv constraints/.whole constraints/oldest.txt
	rm constraints/.made

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.verify: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,verify]'
	@touch $@ $(VENV)/.run $(VENV)/.dev

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench,verify]'
	@touch $@ $(VENV)/.run $(VENV)/.dev

$(VENV)/.release: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,release]'
	@touch $@ $(VENV)/.run $(VENV)/.dev

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest demo build dist docs/_build docs/reference/api
