#!/usr/bin/env bash
# The examples as their readers would run them, one after the other.
#   examples.sh FOLDER_OF_EXAMPLES
set -euo pipefail
examples=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
expect() { # TEXT, in out
  grep -qF -- "$1" out || { echo "FAILED: '$1' is not in:"; cat out; exit 1; }
}
"$examples/train_and_save" heat.safetensors >out
expect 'heat.safetensors holds a model of heat'
"$examples/serve" heat.safetensors 8 >out
expect '8 threads answered 10000 rows each'
awk 'BEGIN { srand(1); print "speed,load,cooling,heat"
  for (i = 0; i < 1200; i++) { s = rand(); l = rand(); c = rand(); print s "," l "," c "," 60 + 20 * sin(3 * s) + 30 * l * (1 - c) + rand() } }' >rows.csv
"$examples/intervals" heat.safetensors rows.csv 90 >out
expect 'lo_0.5'
expect 'of 1200 rows'
"$examples/stop" rows.csv heat 1000 >out # good enough at the first look
expect 'stopped on request, with a model of heat'
if "$examples/serve" rows.csv >out 2>&1; then echo 'FAILED: a CSV file was loaded as a model'; exit 1; fi
expect 'rows.csv'
echo '5 examples, 0 failed'
