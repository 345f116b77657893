# Commands for readers, researchers and CI. You need Python 3.11 or newer, and make.
PYTHON ?= python3
STAMP = .venv/.installed
PY = .venv/bin/python

# Runs are parallel, so linear algebra uses one thread. All processes share compiled kernels; their folder is described
# in bandits_lib/numerics/kernel_cache.py.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
export NUMBA_NUM_THREADS = 1
export VECLIB_MAXIMUM_THREADS = 1
# Notebooks draw inline, whatever the shell's MPLBACKEND is, and no process compiles what another has compiled.
unexport MPLBACKEND PYTHONDONTWRITEBYTECODE

.PHONY: help setup figures paper verify redraw test test-part test-all lab bench processors book notebooks lint clean

help:           ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## build .venv from requirements.lock and compile the kernels (the other commands do this when needed)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; v = sys.version_info; sys.exit(v < (3, 11) and 'This is Python %d.%d; 3.11 or newer is needed: make PYTHON=python3.11' % v[:2])"
	@echo "Installing the packages in requirements.lock into .venv: minutes, without output."
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "Compiling the kernels, once: a minute or more."
	$(PY) -c "import bandits_companion.compile_kernels; bandits_companion.compile_kernels.compile_kernels()"
	@touch $(STAMP)

figures: $(STAMP) ## execute all notebooks at their small default parameters into build/; ends with totals and build/index.html
	$(PY) notebooks/run.py figures

paper: $(STAMP) ## execute the notebooks at the papers' scale into figures/, hours: [PAPER=fiez2019] [FIGURE=fiez2019/1a] [SEED=0] [WHY="why digits change"] [SCHEDULER=tcp://...]
	$(PY) notebooks/run.py paper --paper '$(PAPER)' --figure '$(FIGURE)' --scheduler '$(SCHEDULER)' $(if $(SEED),--seed '$(SEED)') $(if $(WHY),--why "$$WHY")

verify: $(STAMP) ## play a few runs of each rule at the papers' scale, and compare their rows with the published ones: [FIGURE=fiez2019/1a] [RUNS=3]
	$(PY) notebooks/run.py verify --figure '$(FIGURE)' --runs $(or $(RUNS),3)

redraw: $(STAMP) ## draw published pictures again from the csv files in figures/, in seconds: FIGURE=fiez2019/1a
	$(PY) notebooks/run.py redraw '$(FIGURE)'

PACKAGES = bandits_lib bandits_lab bandits_companion
PYTEST = $(PY) -m pytest -n 2 --dist loadscope --no-loadscope-reorder --nbval --nbval-current-env --nbval-cell-timeout 600

test: $(STAMP) ## the tests that every change needs, and every notebook compared with its fresh outputs: [ARGS="-k rage"]
	$(PYTEST) -m 'not slow' notebooks tests $(PACKAGES) $(ARGS)

test-part: $(STAMP) ## the part of the second tier whose turn it is today, in minutes: [PART=7]
	$(PYTEST) -m slow --part $(or $(PART),$(shell date +%j)) tests $(ARGS)

test-all: $(STAMP) ## all tests: also in a browser, printed numbers, imitated processors, simulated users, long statistics
	$(PYTEST) notebooks tests $(PACKAGES) $(ARGS)

lab: $(STAMP) ## JupyterLab on the notebooks; `git restore notebooks` brings the published ones back
	$(PY) -m jupyterlab --ServerApp.root_dir=$(CURDIR) --LabApp.default_url=/lab/tree/notebooks/companion_start_here.ipynb

bench: $(STAMP) ## run every benchmark in turn, and write what they print into benchmarks/README.md
	$(PY) benchmarks/measure.py bench

processors: $(STAMP) ## show which results would differ on other processors, an hour or two: [ARGS="--notebooks none"]
	$(PY) benchmarks/processors.py $(ARGS)

book: $(STAMP)  ## build a static site of the executed notebooks, figures, ledger, errata and reference: build/book/html
	$(PY) book/gather.py

notebooks: $(STAMP) ## re-execute the committed notebooks in place, without timing metadata: [ONLY="name ..."]
	$(PY) notebooks/run.py notebooks $(ONLY)

lint: $(STAMP) ## ruff, mypy, import-linter and numpydoc
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) -m numpydoc lint $$(find $(PACKAGES) -name '*.py')

clean: ## remove what was built; .venv, figures/ and the checkpoints of long runs stay
	rm -rf .numba_cache .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks
	if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name checkpoints -exec rm -rf {} +; fi
	find bandits_lib bandits_lab bandits_companion benchmarks notebooks tests -name __pycache__ -prune -exec rm -rf {} +
