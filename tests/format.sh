#!/usr/bin/env bash
# Every C file is as .clang-format says.    format.sh PROJECT_ROOT
set -euo pipefail
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
cd "$1"
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
