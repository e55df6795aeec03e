#!/usr/bin/env bash
# What `cmake --install` leaves, used by strangers: a C program through pkg-config, shared and static, a C++ program and a project
# through the CMake package; and libadvgp.so shows the functions of advgp.h, all of them and no others.
#   install.sh SOURCE BUILD
set -euo pipefail
source_dir=$(realpath "$1") build=$(realpath "$2")
command -v pkg-config >/dev/null || { echo 'skipped: no pkg-config'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 cases=0
check() { # NAME COMMAND...
  cases=$((cases + 1))
  if ! "${@:2}" >"$scratch/out" 2>&1; then echo "FAILED $1:"; tail -n 20 "$scratch/out"; failed=$((failed + 1)); fi
}

# A program that was moved with its tree still finds its libraries: nothing here knows the place of the build.
cmake --install "$build" --prefix "$scratch/built" >/dev/null
mv "$scratch/built" "$scratch/there"
lib=$(dirname "$(find "$scratch/there" -name libadvgp.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig
for file in bin/advgp include/advgp.h share/man/man1/advgp.1 share/bash-completion/completions/advgp share/doc/advgp/LICENSE; do
  check "installs $file" test -s "$scratch/there/$file"
done

exports() {
  nm -D --defined-only "$lib/libadvgp.so" | awk '{ print $3 }' | sort >"$scratch/exported"
  grep -oE '\badvgp_[a-z_]+\(' "$source_dir/include/advgp.h" | tr -d '(' | sort -u >"$scratch/declared"
  diff "$scratch/exported" "$scratch/declared"
}
check 'exports what advgp.h declares' exports
soname() { readelf -d "$lib/libadvgp.so" | grep -q 'SONAME.*libadvgp.so.0'; }
check 'has its soname' soname

# MPI is a module, for whoever asks for it: nothing else needs its libraries, and without it there is a sentence.
needs() { readelf -d "$1" | grep -o 'NEEDED.*\[.*'; } # FILE
needs_no_mpi() { ! needs "$1" | grep -i mpi; }
for file in "$lib/libadvgp.so" "$scratch/there/bin/advgp"; do check "$(basename "$file") does not need MPI" needs_no_mpi "$file"; done
transports() { env -C / "$scratch/there/bin/advgp" info | grep '^transports'; }
if [[ -e $build/libadvgp_mpi.so ]]; then
  has_mpi() { transports | grep -F 'MPI v' || transports | grep -F 'MPICH'; }
  check 'finds its MPI' has_mpi
  mv "$lib/advgp/libadvgp_mpi.so" "$scratch/away.so"
  lacks_mpi() { transports | grep -F 'mpi (not here: install'; }
  check 'runs without its MPI' lacks_mpi
  says_so() { ! "$scratch/there/bin/advgp" train nothing.packed --target y --transport mpi >"$scratch/said" 2>&1 && grep -F 'libadvgp_mpi.so' "$scratch/said"; }
  check 'says what is missing' says_so
  mv "$scratch/away.so" "$lib/advgp/libadvgp_mpi.so"
fi
no_foreign_headers() { (( $(pkg-config --cflags advgp | wc -w) == 1 )); }
check 'pkg-config names our headers alone' no_foreign_headers

cd "$scratch"
cat >use.c <<'END'
#include <advgp.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    advgp_error err;
    advgp_model *model;
    if (advgp_model_load("nothing.safetensors", &model, &err) == ADVGP_OK || !strstr(err.text, "nothing.safetensors")) return 1;
    printf("%s %d.%d.%d\n", advgp_version(), ADVGP_VERSION_MAJOR, ADVGP_VERSION_MINOR, ADVGP_VERSION_PATCH);
    char macros[32];
    snprintf(macros, sizeof macros, "%d.%d.%d", ADVGP_VERSION_MAJOR, ADVGP_VERSION_MINOR, ADVGP_VERSION_PATCH);
    return strcmp(macros, advgp_version()) != 0;
}
END
cp use.c use.cc
# shellcheck disable=SC2046 # the words of pkg-config are words
{
  check 'C by pkg-config' cc -std=c99 -Wall -Wextra -Werror -pedantic use.c -o use $(pkg-config --cflags --libs advgp) "-Wl,-rpath,$lib"
  check 'runs' ./use
  check 'C++ by pkg-config' c++ -std=c++17 -Wall -Wextra -Werror use.cc -o use_cc $(pkg-config --cflags --libs advgp) "-Wl,-rpath,$lib"
  check 'runs as C++' ./use_cc
}
# The same program with the library inside: where there is no libadvgp.so, as in a tree that was installed for that.
cat >static.c <<'END'
#include <advgp.h>
#include <math.h>
#include <stdio.h>
int main(void)
{
    double x[200], y[200];
    for (int i = 0; i < 200; i++) x[i] = i / 200.0, y[i] = sin(6 * x[i]);
    const advgp_column columns[] = {{"x", ADVGP_FLOAT64, x, 0}, {"y", ADVGP_FLOAT64, y, 0}};
    advgp_data *table = NULL;
    advgp_options *options = NULL;
    advgp_model *model = NULL;
    advgp_error err;
    if (advgp_data_new(200, &table, &err) || advgp_data_add(table, &columns[0], &err) || advgp_data_add(table, &columns[1], &err) ||
        advgp_options_new("train", &options, &err) || advgp_options_set(options, "target", "y", &err) ||
        advgp_train(table, options, NULL, &model, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    advgp_model_free(model);
    advgp_options_free(options);
    advgp_data_free(table);
    return 0;
}
END
mkdir shared_away
mv "$lib"/libadvgp.so* shared_away/
# shellcheck disable=SC2046
check 'static by pkg-config' cc -std=c99 static.c -o use_static $(pkg-config --cflags --static --libs advgp)
check 'runs static' ./use_static
needs_no_advgp() { ! needs use_static | grep libadvgp; }
check 'is static' needs_no_advgp
mv shared_away/* "$lib/"
# The programs of docs/c-api.md.
awk '/^```c$/ { n++; file = "doc" n ".c"; next } /^```$/ { file = ""; next } file { print > file }' "$source_dir/docs/c-api.md"
for program in doc*.c; do
  # shellcheck disable=SC2046
  check "$program of c-api.md" cc -std=c99 -Wall -Wextra -Werror "$program" -o "${program%.c}" $(pkg-config --cflags --libs advgp) -lm "-Wl,-rpath,$lib"
  check "$program runs" "./${program%.c}"
done
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(advgp 0.1 REQUIRED)
add_executable(consumer use.c)
target_link_libraries(consumer PRIVATE advgp::advgp)
END
check 'CMake package' cmake -S . -B consumer_build "-DCMAKE_PREFIX_PATH=$scratch/there"
check 'CMake builds' cmake --build consumer_build
check 'CMake runs' consumer_build/consumer
check 'the program runs' "$scratch/there/bin/advgp" info
echo "$cases cases, $failed failed"
exit $((failed > 0))
