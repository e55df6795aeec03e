# A thin face over CMake: make, make test, make asan, make tsan, make sim, make bench, make cover, make format, make clean.
.PHONY: all test long asan tsan clang sim bench cover format clean
all:
	cmake --preset release >/dev/null
	scripts/build build

test:
	scripts/test
long:
	scripts/test --long

asan tsan clang:
	cmake --preset $(if $(filter asan,$@),asan-ubsan,$@) >/dev/null
	scripts/build build-$@
	ctest --preset $(if $(filter asan,$@),asan-ubsan,$@)

# Simulated clusters: make sim, or one again: make sim SEED=17
sim: all
	$(if $(SEED),SIM_FIRST=$(SEED) SIM_SEEDS=1 SIM_SHOW=1 )OPENBLAS_NUM_THREADS=1 build/tests/sim_seeds

bench: all
	build/bench/gradient
	build/bench/predict
	build/bench/time $(or $(DATA),data)

# Lines that no test ran, and their number.
cover:
	cmake --preset coverage >/dev/null
	scripts/build build-coverage
	ctest --preset coverage -j 2
	scripts/coverage

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build build-*
