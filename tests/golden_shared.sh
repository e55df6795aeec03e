#!/usr/bin/env bash
# The oracle's own folder, where it stands beside the project: every case there, those on others' data included.
#   golden_shared.sh GOLDEN_CHECK FOLDER        exit 77 (skipped) where there is no such folder
set -euo pipefail
shopt -s nullglob
cases=("$2"/case*.json)
(( ${#cases[@]} )) || { echo "skipped: no cases in $2"; exit 77; }
exec "$1" "${cases[@]}"
