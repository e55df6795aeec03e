#!/usr/bin/env bash
# scripts/build says one line where there was something to build, nothing where there was not, and why where it fails.
#   build_quiet.sh PROJECT_ROOT
set -uo pipefail
dir=$(mktemp -d) bad=0
trap 'rm -rf "$dir"' EXIT
miss() { echo "FAILED: $*"; bad=1; }
printf 'cmake_minimum_required(VERSION 3.20)\nproject(quiet C)\nadd_executable(quiet a.c b.c)\n' >"$dir/CMakeLists.txt"
echo 'int b(void); int main(void) { return b(); }' >"$dir/a.c"
echo 'int b(void) { return 0; }' >"$dir/b.c"
cmake -G Ninja -S "$dir" -B "$dir/build" >/dev/null || exit 1
run() { "$1/scripts/build" "$dir/build" >"$dir/out" 2>"$dir/err"; }
run "$1" || miss "it does not build: $(cat "$dir/err")"
[[ ! -s $dir/out && $(cat "$dir/err") =~ ^built\ in\ [0-9]+\ s$ ]] || miss "it says more: $(cat "$dir/out" "$dir/err")"
run "$1" && [[ ! -s $dir/out && ! -s $dir/err ]] || miss "nothing to do: $(cat "$dir/out" "$dir/err")"
echo 'int b(void) { return nothing; }' >"$dir/b.c"
run "$1" && miss 'a mistake is built'
grep -q "nothing" "$dir/err" && grep -q 'build does not build$' "$dir/err" || miss "a mistake: $(cat "$dir/err")"
# On a terminal one line counts, written again and again.
if script=$(command -v script); then
  echo 'int b(void) { return 1; }' >"$dir/b.c"
  "$script" -qec "'$1/scripts/build' '$dir/build'" /dev/null </dev/null >"$dir/typed" 2>&1 || miss "on a terminal: $(cat "$dir/typed")"
  grep -q 'building [0-9]*/[0-9]*' "$dir/typed" && [[ $(tr -d '\r' <"$dir/typed" | wc -l) == 1 ]] || miss "on a terminal: $(cat -v "$dir/typed")"
fi
exit $bad
