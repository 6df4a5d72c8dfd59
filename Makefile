# The front door: `make demo`, `make test`, `make help`. A target installs what is missing (scripts/install-deps),
# configures through CMakePresets.json and builds into build/$(PRESET).
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60

.PHONY: help demo build test bench gpu-test sanitize fuzz mutants format format-check lint clean deps test-deps configure

help:  ## this list
	@echo "kith: exact k-nearest-neighbour search"
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | awk -F '|' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo "  PRESET=release|debug|asan|tsan|... chooses the build (CMakePresets.json), JOBS=N the parallelism, ARGS=... is passed on"

demo: configure  ## nearest neighbours of real images: Fashion-MNIST, on the GPU where there is one
	cmake --build $(BUILD) -j $(JOBS) --target kith_cli
	$(BUILD)/kith demo $(ARGS)

build: test-deps configure  ## everything: library, command line, tests, benchmark
	cmake --build $(BUILD) -j $(JOBS)

test: build  ## every test that this machine can run
	@scripts/gpu-note $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(ARGS)

gpu-test: build  ## the GPU tests, recorded in bench/results/<gpu>/tests.json
	scripts/gpu-test $(BUILD)

bench: deps  ## named workloads timed, beside whichever rivals are installed (bench/peers)
	@cmake --preset $(PRESET) -B build/shared -D BUILD_SHARED_LIBS=ON -D KITH_CLI=OFF -D KITH_TESTS=OFF -D KITH_FUZZ=OFF
	cmake --build build/shared -j $(JOBS) --target kith kith_bench
	scripts/bench build/shared $(ARGS)

sanitize:  ## the tests under the address, undefined-behaviour and thread sanitizers
	$(MAKE) test PRESET=asan
	$(MAKE) test PRESET=tsan

fuzz: test-deps configure  ## random searches, command lines and files, each fuzzer for FUZZ_SECONDS
	cmake --build $(BUILD) -j $(JOBS) --target differential kith_cli fuzzers
	scripts/fuzz $(BUILD) $(FUZZ_SECONDS)

mutants: configure  ## edits of bounds, orders and checks, each of which a test must notice (an hour on two cores)
	scripts/mutants run $(ARGS)

format:  ## lay out the sources with clang-format
	scripts/install-deps lint
	scripts/cxx-files | xargs -0r clang-format -i

format-check:
	scripts/install-deps lint
	scripts/cxx-files | xargs -0r clang-format --dry-run -Werror

lint: configure  ## clang-tidy over the host sources
	scripts/install-deps lint
	scripts/lint $(BUILD)

clean:  ## remove build/
	rm -rf build

deps:
	@scripts/install-deps build

test-deps:
	@scripts/install-deps build test

configure: deps
	@cmake --preset $(PRESET)
