#!/usr/bin/env bash
# clang-tidy over everything that is compiled, with the checks of .clang-tidy; its analyzer, which takes five times as long as all
# the others, with ADVGP_LONG=1 only.    tidy.sh PROJECT_ROOT BUILD_DIR
set -euo pipefail
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }
cd "$1"
checks=()
[[ -n ${ADVGP_LONG-} ]] || checks=('--checks=-clang-analyzer-*')
git ls-files 'src/*.c' 'bench/*.c' 'examples/*.c' | grep -v '_test\.c$' |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet ${checks[@]+"${checks[@]}"} -p "$2" 2>&1 | { grep -vE '^[0-9]+ warnings? (generated|treated)' || true; } > "$2/tidy.log" || failed=1
if [[ -n ${failed-} ]] || grep -qE 'warning:|error:' "$2/tidy.log"; then cat "$2/tidy.log"; exit 1; fi
