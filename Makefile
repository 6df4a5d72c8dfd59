# The front door: `make demo`, `make test`, `make help`. A target installs what is missing (scripts/install-deps),
# configures through CMakePresets.json and builds into build/$(PRESET).
# The demo and the tests of a machine without a GPU need the CPU's half alone: preset cpu. All else builds everything.
ifeq ($(origin PRESET),undefined)
PRESET := $(if $(filter demo test,$(or $(firstword $(MAKECMDGOALS)),help)),$(shell scripts/default-preset),release)
endif
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local
export UPGRADE

FOLDER ?= $(BUILD)/papers
SECONDS ?= 600

.PHONY: help demo build install test wheel test-python peers-tests bench papers packages docs release release-check drawings gpu-test gpu-test-python sanitize fuzz mutants check-contributing \
    format format-check lint prose clean deps test-deps bench-deps configure

# The last line of a build that was left without HDF5: what brings it.
say_hdf5 = $(BUILD)/kith info | sed -n 's/^ *hdf5 .*not in this build/kith: HDF5 files (.hdf5, .h5) are not in this build/p'

help:  ## this list
	@echo "kith: exact k-nearest-neighbour search"
	@sed -nE 's|\$$\(PRESET\)|$(PRESET)|; s/^([a-z-]+):.*## (.*)/\1\|\2/p' Makefile | awk -F '|' '{printf "  make %-18s %s\n", $$1, $$2}'
	@echo "  PRESET=release|cpu|debug|asan|tsan|... chooses the build (CMakePresets.json), JOBS=N the parallelism, ARGS=... is passed on"

demo: configure  ## nearest neighbours of real images: Fashion-MNIST, on the GPU where there is one
	cmake --build $(BUILD) -j $(JOBS) --target kith_cli
	$(BUILD)/kith demo $(ARGS)
	@scripts/left-out $(BUILD)

install: configure  ## library, headers, tool and its manual page into PREFIX=/usr/local
	cmake --build $(BUILD) -j $(JOBS) --target kith kith_io kith_cli kith_described
	cmake --install $(BUILD) --prefix $(PREFIX)
	@$(say_hdf5)

build: test-deps configure  ## everything: library, command line, tests, benchmark
	cmake --build $(BUILD) -j $(JOBS)
	@$(say_hdf5)

test: build  ## every test that this machine can run
	@scripts/gpu-note $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(ARGS)
	@scripts/left-out $(BUILD)

wheel: configure  ## the Python package: build/$(PRESET)/wheel/kith_knn-*.whl
	scripts/install-deps python
	cmake --build $(BUILD) -j $(JOBS) --target kith kith_io kith_cli kith_described kith_formats
	scripts/wheel $(BUILD)

test-python: build  ## the Python package beside torch, jax, faiss, UMAP, scanpy and scikit-learn's own tests
	scripts/test-python $(BUILD) --full

peers-tests: wheel  ## other projects' own tests with kith in place of what they test: faiss, cuVS, pytorch3d, scikit-learn, ...
	scripts/peers-tests $(BUILD) $(ARGS)

packages: build  ## the Python package beside what pip installs: speed, recall, memory, install size in one table
	scripts/packages $(BUILD) $(ARGS)

docs: configure  ## the documentation site: build/$(PRESET)/docs/html/index.html
	scripts/install-deps python docs
	cmake --build $(BUILD) -j $(JOBS) --target kith kith_io kith_cli kith_described
	scripts/docs $(BUILD)

release: configure  ## a release's files: build/$(PRESET)/dist with wheels, sources, checksums, bill of materials, provenance
	scripts/install-deps python
	cmake --build $(BUILD) -j $(JOBS) --target kith kith_io kith_cli kith_described kith_formats
	scripts/release build $(BUILD)
	scripts/release repeat $(BUILD)

release-check:  ## the recipes of packaging/, each built and used in a clean root or with tools from PyPI; ARGS='debian conan' takes some
	scripts/release-check $(ARGS)

drawings:  ## the drawings of records that documents show, beside the records; needs matplotlib
	scripts/install-deps plot
	scripts/records drawings

gpu-test: build  ## the GPU tests, recorded in bench/results/<gpu>/tests.json
	scripts/gpu-test $(BUILD)

gpu-test-python: build  ## the Python package on the GPU, recorded in bench/results/<gpu>/python.json
	scripts/wheel $(BUILD)
	scripts/gpu-test-python $(BUILD)/wheel $(BUILD)/src/libkith_shared.so

bench: deps bench-deps  ## named workloads timed, beside whichever baselines are installed (bench/baselines)
	@cmake --preset $(PRESET) -B build/shared -D BUILD_SHARED_LIBS=ON -D KITH_CLI=OFF -D KITH_TESTS=OFF -D KITH_FUZZ=OFF
	cmake --build build/shared -j $(JOBS) --target kith kith_bench
	scripts/bench build/shared $(ARGS)

papers: deps  ## the papers' figures and tables, in parts of SECONDS=600: FOLDER=build/$(PRESET)/papers, and drawn
	scripts/install-deps bench papers plot
	cmake --preset $(PRESET) -D KITH_PAPERS=ON -D KITH_BENCH=ON
	cmake --build $(BUILD) -j $(JOBS) --target kith_bench
	@! command -v nvcc > /dev/null || { cmake --preset counted -B $(BUILD)-counted && cmake --build $(BUILD)-counted -j $(JOBS) --target kith_bench; }
	scripts/papers $(BUILD) $(FOLDER) $(SECONDS)

sanitize:  ## the tests under the address, undefined-behaviour and thread sanitizers
	$(MAKE) test PRESET=asan
	$(MAKE) test PRESET=tsan

fuzz: test-deps configure  ## random searches, command lines and files, each fuzzer for FUZZ_SECONDS
	cmake --build $(BUILD) -j $(JOBS) --target differential c_misuse kith_cli fuzzers
	scripts/fuzz $(BUILD) $(FUZZ_SECONDS)

mutants: configure  ## edits of bounds, orders and checks, each of which a test must notice (an hour on two cores)
	scripts/mutants run $(ARGS)

check-contributing: test-deps  ## what CONTRIBUTING.md tells to do, done word for word in a copy of the tree
	scripts/check-contributing $(ARGS)

format:  ## lay out the sources with clang-format
	scripts/install-deps lint
	scripts/cxx-files | xargs -0r clang-format -i

format-check:
	scripts/install-deps lint
	scripts/cxx-files | xargs -0r clang-format --dry-run -Werror

lint: configure  ## clang-tidy over the host sources
	scripts/install-deps lint
	scripts/lint $(BUILD)

prose:  ## the words and sentences of documents and comments, by scripts/prose.json; ARGS=-w adds warnings
	@scripts/prose $(ARGS)

clean:  ## remove build/
	rm -rf build

# A build without HDF5 is one: where its package would change what is installed, it is left out, and says so.
deps:
	@scripts/install-deps build
	@scripts/install-deps hdf5 || [ $$? = 3 ]

# The tests need HDF5: where its package wants an upgrade of others (libcurl's), that is made, unless UPGRADE=0.
test-deps:
	@UPGRADE=$${UPGRADE:-1} scripts/install-deps build hdf5 test python docs

bench-deps:
	@scripts/install-deps bench

configure: deps
	@cmake --preset $(PRESET)
