#!/usr/bin/env bash
# `advgp simulate`: what it prints, that it repeats, and what it refuses.      simulate.sh ADVGP MAKE_MODEL
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
say() { "$advgp" simulate "$@" 2> err.txt || miss "advgp simulate $*: $(head -c 300 err.txt)"; }
has() { seen=$((seen + 1)); grep -qE -- "$2" <<<"$3" || miss "$1: no '$2' in: $(head -c 600 <<<"$3")"; }
same() { seen=$((seen + 1)); [[ $2 == "$3" ]] || miss "$1: '$3' was expected, not '$2'"; }
# Costs given, so that a busy machine does not change a digit.
fixed=(--row-seconds 1e-6 --push-seconds 1e-3 --message-seconds 1e-7 --byte-seconds 2e-10 --step-seconds 5e-4)

# costs alone
out=$(say "${fixed[@]}" --workers 4,16 --max-delay 0,inf --speeds 20 --rows 100000 -m 20)
has "a table" '^workers +max delay +a version' "$out"
has "a slow worker at tau = 0" '^ +16 +0 .* delay$' "$out"
has "and without a bound" '^ +16 +inf .* workers$' "$out"
has "the best delay" '^16 workers: best max delay inf$' "$out"
same "again" "$(say "${fixed[@]}" --workers 4,16 --max-delay 0,inf --speeds 20 --rows 100000 -m 20)" "$out"
has "a narrow line" 'first to saturate: network, at 16 workers' "$(say "${fixed[@]}" --workers 16 --bandwidth 1e6 -m 20)"
has "a slow server" 'first to saturate: server CPU, at 4 workers' "$(say "${fixed[@]:0:8}" --workers 4 --step-seconds 10 -m 20)"
out=$(say "${fixed[@]}" --workers 8 --tau 0,5 --rows 10000 --weak --optimizer prox --quorum 0.5 -m 10 --json)
has "json" '"max_delay": 5, "rows": 80000,' "$out"
has "json costs" '"costs": \{"push": 0.001' "$out"
for speeds in equal random 3 1,1,4 sleep:0,10,20; do
  has "speeds $speeds" '^4 workers: best' "$(say "${fixed[@]}" --workers 4 --max-delay 0,8 --speeds $speeds -m 10)"
done
has "measured here" '^a push [0-9.]+ [um]s and [0-9.]+ [um]s a row' "$(say --workers 2 --max-delay 0 -m 10)"

# real gradients
out=$(say "${fixed[@]}" t.csv --target y --exclude id --validation 0.2 -m 10 --workers 4 --max-delay 0,20 --batch 40 --time 0.2 --json)
has "an error" '"rmse": [0-9.]+' "$out"
has "a curve" '"curve": \[\[0\.0' "$out"
out=$(say "${fixed[@]}" --rmse 0.5 --rows 2000 --columns 2 -m 10 --workers 4 --max-delay 0,20 --batch 100 --versions 300 --filter 0.001)
has "time to an error" 'time to it' "$out"
has "it is reached" '^ +4 +20 .* [0-9.]+ m?s  workers$' "$out"

# what is refused
try() { # CODE "piece of the message" ARGUMENTS...
  local code=$1 piece=$2 got; shift 2
  seen=$((seen + 1))
  "$advgp" simulate "$@" > out.txt 2> err.txt; got=$?
  [[ $got == "$code" ]] || miss "advgp simulate $*: exit $got, not $code: $(head -c 300 err.txt)"
  grep -qF -- "$piece" err.txt || miss "advgp simulate $*: '$piece' is not in: $(head -c 300 err.txt)"
  [[ ! -s out.txt ]] || miss "advgp simulate $*: it printed $(head -c 100 out.txt)"
}
try 2 "--workers '0'" --workers 0
try 2 "whole numbers from 1 to 4096" --workers 4,many
try 2 "or inf" --max-delay 0,-1
try 2 "sleep:0,10,20" --speeds fast
try 2 "--speeds" --speeds 1,,2
try 2 "--speeds" --speeds sleep:
try 2 "--latency" --latency -1
try 2 "give DATA or --rmse" --filter 1
try 2 "--weak is of costs alone" --weak --rmse 1
try 2 "--rows is of generated rows" t.csv --target y --rows 1000
try 2 "no DATA that has it" --target y
try 2 "--target COL" t.csv
try 2 "are not enough for 64 workers" --rows 20 --workers 64
try 3 "cannot open none.csv" none.csv --target y
try 3 "no rows are held out" t.csv --target y --validation 0
try 2 "--worker" --worker 3

(( bad == 0 )) && echo "$seen checks of simulate"
exit $bad
