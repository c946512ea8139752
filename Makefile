# make studio   installs into .venv and opens the studio in a browser
# make test     installs and runs everything that must pass
# The others: kernels, wheel, soak, bench, bench-peers, docs, coverage, node, format, clean.
# Set PYTHON to choose an interpreter (3.11 or later).

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PEERS := .cache/peers
# Of two cores: tests of the studio wait for a browser, those of jobs for other processes.
WORKERS ?= 3
# A room's tests share a worker, in the order of tests/conftest.py: two workers would compile the same kernels.
IN_ROOMS = -n $(WORKERS) --dist loadscope --no-loadscope-reorder --durations=15

# Rooms with compiled code. Their tests run a second time with every array index checked: an index past the end
# is otherwise read in silence. tests/test_rooms.py fails when a room with kernels is missing here.
KERNEL_ROOMS := compute math skeleton limits formats collision limb body samples reach reconstruct classic express edit robots
# Not among them: readers and writers that run no kernel of their own, how kernels are compiled, and what measures how
# good answers are with kernels that other tests run too.
UNCHECKED := $(addprefix tests/,formats/test_gltf_%.py formats/test_makehuman.py formats/test_urdf.py formats/test_npz.py formats/test_smpl.py formats/test_vrma.py \
	formats/test_c3d.py formats/test_usd_%.py formats/test_fbx.py formats/test_memory.py formats/test_mjcf.py formats/test_robot_meshes.py formats/test_registry.py formats/test_datasets.py samples/test_samples.py reach/test_examples.py reach/test_learn.py \
	reconstruct/test_prior.py reconstruct/test_calibration.py limb/test_range_data.py limb/test_swivels.py \
	edit/test_retarget.py $(addprefix compute/test_,archive.py cuda.py errors.py files.py kernels.py numba_inline.py targets.py))
KERNEL_TESTS = $(filter-out $(UNCHECKED), \
	$(sort $(wildcard $(foreach room,$(KERNEL_ROOMS),tests/test_$(room)*.py tests/$(room)/test_*.py))))

# A few tests of compiled code, for the plain way of compiling: a minute or two.
PLAIN_TESTS := tests/compute tests/math tests/skeleton tests/limits/test_limits.py

.PHONY: studio test kernels wheel check-style check-types check-tests check-bounds check-plain check-examples check-docs soak bench bench-solvers bench-peers \
	docs coverage node format clean
.DEFAULT_GOAL := test

# The studio opens at once. Kernels that it needs before the library is there are compiled by Numba; where there is no C
# compiler, all of them are.
studio: $(VENV)/.studio
	@nice $(BIN)/python -m posable.compute.build --quiet & $(BIN)/posable studio

# Every kernel, ahead of time, beside the sources: a minute or two on two cores, and nothing where nothing changed.
kernels: $(VENV)/.dev
	$(BIN)/python -m posable.compute.build

# A wheel for each system, with the library and without Numba, and one for all others, with Numba (docs/install.md). Code
# for GPUs is the same in all of them: two minutes on two cores, once.
TARGETS := linux-x86_64 linux-aarch64 macos-arm64 windows-x86_64
wheel: $(VENV)/.dev
	rm -rf dist build/kernels
	$(BIN)/python -m posable.compute.build --ptx --out build/kernels/gpu
	@set -e; for target in $(TARGETS); do \
		$(BIN)/python -m posable.compute.build --portable --target $$target --out build/kernels/$$target; \
		POSABLE_TARGET=$$target $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .; done
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls -l dist

# One after the other, also under make -j: the machine has few cores and the output should read from top to bottom. Only
# what leaves a core without work runs two at a time, each with its output in one piece.
test: $(VENV)/.dev node
	$(MAKE) --no-print-directory check-style
	$(MAKE) --no-print-directory -j2 --output-sync=target check-types kernels
	$(MAKE) --no-print-directory check-tests
	$(MAKE) --no-print-directory check-bounds
	$(MAKE) --no-print-directory -j2 --output-sync=target check-plain check-examples check-docs
	@echo "make test: everything passed"

check-style: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

check-types: $(VENV)/.dev
	$(BIN)/mypy

# What failed while three workers shared two cores is run once more by itself, and both are printed: a browser that was
# too slow to keep up passes then, a mistake does not.
check-tests: kernels
	POSABLE_KERNELS=library $(BIN)/python -m pytest $(IN_ROOMS) || \
		{ test $$? -eq 1 && POSABLE_KERNELS=library $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

# The library once more, with loops that check every index: one that is past the end is otherwise read in silence.
check-bounds: $(VENV)/.dev
	$(BIN)/python -m posable.compute.build --checked
	POSABLE_KERNELS=checked HYPOTHESIS_PROFILE=few $(BIN)/python -m pytest $(IN_ROOMS) $(KERNEL_TESTS)

# Kernels as a Numba that was never tried compiles them: without anything beyond its public interface.
check-plain: $(VENV)/.dev
	POSABLE_KERNELS=jit POSABLE_PLAIN_NUMBA=1 HYPOTHESIS_PROFILE=few $(BIN)/python -m pytest $(PLAIN_TESTS)

# Each writes a picture, a GLB and a page, which the gallery of the documentation shows (docs/gallery.py).
check-examples: $(VENV)/.dev
	@set -e; for example in $(sort $(wildcard examples/*.py)); do \
		out=build/examples/$$(basename $$example .py); mkdir -p $$out; echo "$$example"; \
		MPLBACKEND=Agg $(BIN)/python $$example $$out > $$out/printed.new; cat $$out/printed.new; \
		mv $$out/printed.new $$out/printed.txt; done

check-docs: check-examples
docs check-docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

# What it did is a table of the docs. Two days on two cores; SOAK=--missing goes on with what has no result yet,
# SOAK='--share 0.01' draws a hundredth of the cases.
soak: kernels node
	POSABLE_KERNELS=library $(BIN)/python -m tools.soak --workers 2 $(SOAK)

# Every solver first, compared with what was recorded before (docs/measurements.md, "Run it again"); then the other
# tables, and the page. An hour or more: `make bench-solvers` is the first part, some minutes.
bench: bench-solvers
	$(BIN)/python -m benchmarks

bench-solvers: $(VENV)/.bench kernels
	POSABLE_KERNELS=library $(BIN)/posable bench --growth --record benchmarks/results/solvers.json
	$(BIN)/python -m benchmarks page

# Other solvers of arms and bodies, in an environment of their own: placo asks for an older pinocchio, and that for an
# older NumPy. One thread for BLAS: on products as small as theirs several threads wait for each other, many times over.
bench-peers: $(PEERS)/.installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PEERS)/bin/python -m benchmarks limb_peers edit_peers retarget

$(PEERS)/.installed: benchmarks/peers.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Posable needs Python 3.11 or later; set PYTHON to one"; exit 1; }
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--editable . --requirement benchmarks/peers.txt
	@touch $@

# Compiled code is invisible to a coverage tool, so here the kernels run as plain Python.
coverage: $(VENV)/.dev node
	POSABLE_KERNELS=jit NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=few $(BIN)/python -m pytest $(IN_ROOMS) \
		--cov=posable --cov-report=term:skip-covered --cov-report=html:build/coverage

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The independent readers of our files (Khronos validator, three.js). Without npm the tests that need them skip.
node: tests/node/node_modules/.installed

tests/node/node_modules/.installed: tests/node/package-lock.json
	@if command -v npm >/dev/null; then \
		cd tests/node && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.installed; \
	else echo "npm is not on the path: the tests that need node will say so"; fi

# A stamp file for each set of extras, renewed when pyproject.toml changes, so that a second call is quick.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Posable needs Python 3.11 or later; set PYTHON to one"; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist docs/_build .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis \
		.coverage* tests/node/node_modules benchmarks/results/*.tmp $(addprefix src/posable/compute/_,loops_* checked_* ptx_*)
