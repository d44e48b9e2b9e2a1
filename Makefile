# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Each target does all its set-up itself: system packages, .venv, configure, build.
#   PRESET=ci|dev          the preset of build/ (ci: warnings are errors)
#   TORCH_VERSION=2.12.0   another torch than python/requirements.txt says
#   JOBS=N                 at most N jobs at a time
#   CMAKE_ARGS=-D...       more arguments for cmake
#   FUZZ_SECONDS=60        how long each fuzzer of `make fuzz` runs
#   PROGRAM_SEEDS=0:10000  the seeds of `make fuzz-programs`
#   GRAPH_SEEDS=0:20000    the same of `make fuzz-graphs`
#   PACKAGE_SEEDS=0:1000   the seeds of `make fuzz-packages`; PACKAGE_DEVICE=cuda: for the GPU of this machine
#   INFER_SEEDS=0:200      the same of `make fuzz-infer`
#   SOAK_EVENTS=10000      how many events `make soak` runs over
#   KILL_SECONDS=600       how long `make soak-service` kills and updates servers (without updates: a quarter of it)
#   DRAWS=5000             how often `make fuzz-columns` draws in each test
#   SCRIPTS=5000           how many random programs `make fuzz-scripts` runs
#   CTEST_ARGS="-LE long"  which tests `make test` runs: without those that take minutes
#   STEPS="fuzz soak"      of `make nightly`

PRESET ?= dev
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PROGRAM_SEEDS ?= 0:10000
GRAPH_SEEDS ?= 0:20000
PACKAGE_SEEDS ?= 0:1000
PACKAGE_DEVICE ?= cpu
INFER_SEEDS ?= 0:200
SOAK_EVENTS ?= 10000
KILL_SECONDS ?= 600
DRAWS ?= 5000
SCRIPTS ?= 5000
TENSOA_SHARED_DATA ?= ../shared/data
PYTHON := .venv/bin/python
export TORCH_VERSION
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

exatrkx := $(wildcard $(TENSOA_SHARED_DATA)/exatrkx_gnn/weights.txt.gz)
models := build/models/tensoa.pt build/models/tensoa.graph.json build/models/merge.pt
ifneq ($(exatrkx),)
models += build/models/exatrkx.pt
endif
real_event := $(wildcard $(TENSOA_SHARED_DATA)/trackml)

cpp_files = $(wildcard $(shell git ls-files --cached --others --exclude-standard '*.hpp' '*.cpp' '*.cu' '*.cuh'))

python_scripts = $(wildcard scripts/*.py)

.DEFAULT_GOAL := help
.PHONY: help setup build models packages demo test bench bench-packages headers format format-check lint conventions words tidy asan tsan clang hip \
        install-check wheel dist release release-twice binaries compilers empty-machine docs interface stub newest-torch fuzz fuzz-programs fuzz-graphs fuzz-packages fuzz-infer fuzz-scripts \
        fuzz-columns soak soak-service width path compare nightly options clean
.DELETE_ON_ERROR:

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what the build needs (system packages, .venv)
	@scripts/setup.sh

# Configure once; after that the build does it itself where a CMake file has changed.
build/.configured-$(PRESET): CMakePresets.json | setup
	@cmake --preset $(PRESET) -DTENSOA_SHARED_DATA=$(abspath $(TENSOA_SHARED_DATA)) $(CMAKE_ARGS)
	@rm -f build/.configured-* && touch $@

build: build/.configured-$(PRESET) ## Build everything
	@cmake --build build

# What the demo needs, the back-end with which a Triton serves its network, and the rest of what is installed.
.PHONY: program
program: build/.configured-$(PRESET)
	@cmake --build build --target tensoa_installed

build/models/tensoa.pt: models/interaction_network.safetensors python/tensoa/graph_network.py python/tensoa/graphs.py $(wildcard python/tensoa/tracking/*.py) | setup
	@$(PYTHON) -m tensoa.export $< --out $@

build/models/merge.pt: models/fragment_network.safetensors python/tensoa/graph_network.py python/tensoa/graphs.py $(wildcard python/tensoa/merging/*.py) | setup
	@$(PYTHON) -m tensoa.export $< --out $@

build/models/exatrkx.pt: $(exatrkx) $(wildcard python/tensoa/importers/exatrkx/*.py) | setup
	@$(PYTHON) -m tensoa.importers.exatrkx $< --out $@

build/models/tensoa.graph.json: models/interaction_network.graph.json
	@mkdir -p $(@D) && cp $< $@

models: $(models) ## Make the TorchScript models in build/models/

packages: program ## Compile the same ahead of time, for the GPU where there is one
	@scripts/demo_packages.sh $(exatrkx)

demo: packages ## Watch hits become tracks, and fragments of showers particles; writes build/demo.html and build/demo-merge.html
	build/tensoa track generate:10 --model build/models/tensoa.pt2 --report build/demo.html
	build/tensoa merge generate:10 --model build/models/merge.pt2 --report build/demo-merge.html
ifneq ($(real_event),)
	build/tensoa track $(real_event) --model build/models/tensoa.pt2 --report build/demo-trackml.html
endif

test: build models ## Run all tests
	@ctest --preset $(PRESET) --parallel $(JOBS) --progress $(CTEST_ARGS)

bench: build models ## Run all benchmarks
	@programs=$$(find build/bench -name 'bench_*' -type f -perm -u+x | sort) && test -n "$$programs" && \
	  for program in $$programs; do $$program || exit 1; done

.PHONY: bench-program
bench-program: build/.configured-$(PRESET)
	@cmake --build build --target tensoa_bench_program

# What `build/tensoa-bench forward` runs; each package takes up to a minute.
bench-packages: bench-program ## Make the models and packages of `tensoa-bench forward` in build/bench_packages/
	@mkdir -p build/bench_packages
	@build/tensoa-bench describe-forward build/bench_packages
	@$(PYTHON) bench/make_packages.py build/bench_packages $(exatrkx)

headers: build/.configured-$(PRESET) ## Check that every public header compiles alone
	@cmake --build build --target all_verify_interface_header_sets

format: ## Format all C++, CUDA and Python files
	@clang-format-16 -i $(cpp_files)
	@if [ -x .venv/bin/ruff ]; then .venv/bin/ruff format -q python tests/service && .venv/bin/ruff format -q --config python/pyproject.toml examples $(python_scripts); fi

format-check: ## Check the format of all C++ and CUDA files
	@clang-format-16 --dry-run --Werror $(cpp_files)

lint: setup ## Check style, format and types of python/, tests/service/ and examples/, and the recipes in packaging/
	@cd python && ../.venv/bin/ruff check -q . && ../.venv/bin/ruff format -q --check . && ../.venv/bin/mypy
	@cd python && ../.venv/bin/ruff check -q --config pyproject.toml ../examples && ../.venv/bin/ruff format -q --check --config pyproject.toml ../examples
	@cd tests/service && ../../.venv/bin/ruff check -q . && ../../.venv/bin/ruff format -q --check . && ../../.venv/bin/mypy *.py
	@for step in "check -q" "format -q --check"; do \
	  .venv/bin/ruff $$step --config python/pyproject.toml packaging $(python_scripts) || exit 1; done
	@$(PYTHON) scripts/check_packaging.py

conventions: ## Check licence lines, file sizes, words and commit subjects
	@scripts/check_conventions.sh

# inout is Fortran, the others are names and parts of texts.
words: ## Check the spelling of all text, with codespell (setup.sh --dev); plain words are a part of `make conventions`
	@git ls-files -z | grep -zvE '^(benchmarks/.*[.]json|benchmarks/results/nightly[.]txt|tests/fuzz/seeds/.*)$$|[.](safetensors|svg|webp)$$' | \
	  xargs -0 codespell --quiet-level 3 --ignore-words-list inflight,inout,kinf,kno,mape,nd,nin,ofsets

tidy: setup ## Run clang-tidy over our sources, those of a folder as one
	@cmake --preset tidy $(CMAKE_ARGS) >/dev/null
	@cmake --build build-tidy --target tensoa_generated
	@run-clang-tidy-16 -quiet -p build-tidy -j $(JOBS) '$(CURDIR)/(build-tidy/.*/Unity/.*[.]cxx|[a-z]*/.*[.]cpp)$$'

asan: setup ## Test all layers but pytorch and tools under AddressSanitizer and UndefinedBehaviorSanitizer
tsan: setup ## Test the same under ThreadSanitizer
clang: setup ## Build and test everything with clang 16
asan tsan clang:
	@cmake --preset $@ -UTENSOA_TEST_SEED -DTENSOA_SHARED_DATA=$(abspath $(TENSOA_SHARED_DATA)) $(CMAKE_ARGS)
	@cmake --build build-$@
	@ctest --preset $@ --parallel $(JOBS) --progress

hip: setup ## Compile the HIP seam and the kernel of trees with hipcc, link the seam, where it is installed; nothing runs on AMD hardware
	@if command -v hipcc >/dev/null; then \
	  mkdir -p build-hip && { cmake --preset hip >build-hip/configure.log 2>&1 || { cat build-hip/configure.log; exit 1; }; }; \
	  cmake --build --preset hip --target test_core forest/CMakeFiles/tensoa_forest.dir/src/gpu/gpu_kernels.cu.o && build-hip/tests/core/test_core --gtest_brief=1; \
	else echo "make hip: no hipcc here; apt-get install hipcc libamdhip64-dev brings it (350 MB)"; fi

install-check: build ## Install into fresh folders, with torch and without, and build outside projects against them
	@scripts/install_check.sh

wheel: setup ## Build the wheel of `pip install .`, install it where there is no torch, and use it; build-wheel/dist/ has it
	@scripts/wheel_check.sh

dist: setup ## Make a tarball and a package of Debian that run where they are put: build-dist/packages/ has them
	@cmake --preset release -B build-dist -DTENSOA_PYTORCH=OFF -DTENSOA_RELOCATABLE=ON -DCMAKE_INSTALL_LIBDIR=lib $(CMAKE_ARGS) >/dev/null
	@cmake --build build-dist --target tensoa_installed
	@TENSOA_BUILD=build-dist TENSOA_TARGET=cpu scripts/demo_packages.sh
	@rm -rf build-dist/packages
	@cd build-dist && cpack >cpack.log || { tail cpack.log; exit 1; }
	@if ls build-wheel/dist/tensoa-*.whl >/dev/null 2>&1; then cp build-wheel/dist/tensoa-*.whl build-dist/packages/; \
	else echo "make dist: without the wheel, which make wheel makes"; fi
	@rm -rf build-dist/packages/_CPack_Packages; ls -l build-dist/packages

release: setup ## Make the files of a release of this commit, in build-dist/release/: sources, wheel, tarball, Debian package, their SHA-256
	@scripts/release.sh

release-twice: setup ## Make them twice, each in a fresh clone without a compiler cache: the bytes must be the same
	@scripts/release.sh --twice

binaries: dist ## Use what `make dist` makes in an empty Debian with compilers, made by debootstrap: programs of C, Fortran and C++
	@tests/install/binaries.sh

compilers: build ## Compile the installed headers, and programs, with all compilers that are here, as C++20 and C++23
	@scripts/compilers.sh

empty-machine: wheel ## Use the wheel in an empty Debian without compiler and torch, made by debootstrap: two gigabytes of downloads
	@tests/install/empty_machine.sh

stub: build ## Write the types of the Python module, python/tensoa/_runtime.pyi
	@PYTHONPATH=python $(PYTHON) scripts/write_stub.py

docs: setup ## Write the site to build/site/html: pages and reference; a dead link, or a comment that Doxygen cannot read, is an error
	@$(PYTHON) scripts/write_interface.py --check
	@$(PYTHON) scripts/make_site.py

interface: setup ## Write docs/interface.txt: each public name of C, C++ and Python, with its signature
	@$(PYTHON) scripts/write_interface.py

newest-torch: ## Build and test everything with the newest torch, in its own .venv-newest-torch
	@TENSOA_VENV=.venv-$@ TORCH_VERSION=newest scripts/setup.sh
	@cmake --preset $@ -DTENSOA_SHARED_DATA=$(abspath $(TENSOA_SHARED_DATA)) $(CMAKE_ARGS)
	@cmake --build build-$@
	@ctest --preset $@ --parallel $(JOBS) --progress

fuzz: setup ## Feed made-up bytes and numbers to the code that reads them from outside, with clang's libFuzzer
	@cmake --preset $@ -DTENSOA_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CMAKE_ARGS)
	@cmake --build build-$@ --target fuzzers
	@ctest --preset $@ --parallel $(JOBS) --progress

fuzz-programs: setup ## Make fused programs of random networks and hard numbers, and compare them with torch
	@$(PYTHON) -W ignore python/tests/random_programs.py --seeds $(PROGRAM_SEEDS) --jobs $(JOBS)

fuzz-graphs: setup ## Compile random typed programs of all operations for this CPU, and compare them with torch in float64
	@$(PYTHON) -W ignore python/tests/random_graphs.py --cpu --seeds $(GRAPH_SEEDS) --jobs $(JOBS)

fuzz-packages: program ## Export random modules, run `tensoa infer` over random rows, and compare with torch in float64
	@$(PYTHON) -W ignore python/tests/random_packages.py --program build/tensoa --seeds $(PACKAGE_SEEDS) --device $(PACKAGE_DEVICE) \
	  --jobs $(JOBS)

fuzz-infer: export UBSAN_OPTIONS = print_stacktrace=1
# LeakSanitizer cannot always stop the threads of torch and oneTBB when the program ends.
fuzz-infer: export ASAN_OPTIONS = detect_leaks=0
# AddressSanitizer calls dlopen() itself, so that the RUNPATH of the program does not count.
fuzz-infer: export LD_LIBRARY_PATH := $(CURDIR)/build-asan-infer
fuzz-infer: setup ## The same, and random tables, with an `infer` under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan -B build-asan-infer -DTENSOA_TOOLS=ON -DTENSOA_PYTORCH=ON -DTENSOA_BUILD_TESTS=OFF $(CMAKE_ARGS)
	@cmake --build build-asan-infer --target tensoa_program
	@TENSOA_PROGRAM=$(CURDIR)/build-asan-infer/tensoa $(PYTHON) -m pytest -q tests/tools/test_infer_rows.py -k random
	@$(PYTHON) -W ignore python/tests/random_packages.py --program $(CURDIR)/build-asan-infer/tensoa \
	  --seeds $(INFER_SEEDS) --inductor-each 0 --jobs $(JOBS)

fuzz-scripts: build/.configured-$(PRESET) ## Run random TorchScript programs and all operators of torch: inputs must stay as they are
	@cmake --build build --target test_mutation_analysis
	@TENSOA_RANDOM_PROGRAMS=$(SCRIPTS) TENSOA_TEST_SEED=$${TENSOA_TEST_SEED:-$$(date -u +%Y%m%d)} TENSOA_OPERATOR_CALLS=100 \
	  build/tests/pytorch/test_mutation_analysis --gtest_brief=1

fuzz-columns: build/.configured-$(PRESET) ## Many draws, from the date, of the property tests that draw columns when they run
	@cmake --build build --target test_planes test_foreign_columns
	@TENSOA_TEST_SEED=$$(date -u +%Y%m%d) TENSOA_TEST_DRAWS=$(DRAWS) build/tests/package/test_planes --gtest_brief=1
	@TENSOA_TEST_SEED=$$(date -u +%Y%m%d) TENSOA_TEST_DRAWS=$(DRAWS) build/tests/pytorch/test_foreign_columns --gtest_brief=1

soak: packages ## Run over many events with all cores, and see that memory, files and threads do not grow
	@cmake --build build --target tensoa_soak
	@build/tests/soak/tensoa_soak build/models/tensoa.pt2 $(SOAK_EVENTS)

soak-service: build/.configured-$(PRESET) ## Kill, stop, stall, restart and update three real servers under load: no event may be lost, no memory or thread grow
	@cmake --build build --target test_servers
	@TENSOA_TEST_KILL_SECONDS=$(KILL_SECONDS) TENSOA_TEST_UPDATES=build/tests/remote/updates tests/service/run.py --update \
	  --repository build/tests/remote/updates/models --backend tensoa=build/triton_backends/tensoa/libtriton_tensoa.so --servers 3 -- \
	  build/tests/remote/test_servers --gtest_brief=1 '--gtest_filter=Updated.Killed*'
	@TENSOA_TEST_KILL_SECONDS=$$(( $(KILL_SECONDS) / 4 )) tests/service/run.py --triton mlp --servers 3 -- \
	  build/tests/remote/test_servers --gtest_brief=1 '--gtest_filter=Of/Killed.*'

width: build ## Export a model of each kind and time it next to its peers; writes docs/width.md
	@cmake --build build --target compare_width >/dev/null
	@$(PYTHON) bench/width.py

path: program packages bench-packages ## Measure the time that columns in place save on this CPU; writes docs/saved_time.md
	@PYTHONPATH=python $(PYTHON) bench/path.py --measure cpu

compare: bench-packages ## Measure this library next to others on this CPU; writes docs/compare.md
	@cmake --build build --target compare_peers compare_networks tensoa_python
	@PYTHONPATH=python $(PYTHON) bench/compare.py --measure cpu

nightly: ## What takes too long for each change; writes benchmarks/results/nightly.txt
	@scripts/nightly.sh $(STEPS)

options: build/.configured-$(PRESET) ## The options of the build, with their values
	@cmake -LH -N build | grep -A1 '^//' | grep -B1 '^TENSOA_'

clean: ## Remove all that was built; .venv* stay
	@rm -rf build build-*
