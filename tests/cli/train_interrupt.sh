#!/usr/bin/env bash
# A run that is interrupted at any moment leaves a usable model and a checkpoint, and resumed it ends where an undisturbed
# one does; a run that is killed is resumed from its last checkpoint.
#   train_interrupt.sh ADVGP      3 rounds; 20 with ADVGP_LONG=1
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
rounds=3
[[ -n ${ADVGP_LONG-} ]] && rounds=20
RANDOM=${ADVGP_SEED-$$}
echo "seed ${ADVGP_SEED-$$}"

table 6000 3 >in/rows.csv
printf 'x1,x2\n0.1,0.2\n0.5,0.9\n' >in/new.csv
# Each version costs a nap, not CPU, so that there are seconds to be hit in.
data=(train in/rows.csv --target y -m 40 -q --workers 2 --delay-worker 0:0.008,1:0.008)
whole=(--cells 4) # few cells: they are hit too, and do not take long; so is the noise of each row
steps=(--cells none --noise constant)

# The model as what it says of itself, a field a line, all but file names and what the clock decides; then its effect.
describe() {
  "$advgp" inspect "$1" --json | sed 's/, "/,\n"/g' | grep -vE '"(wall_seconds|cpu_seconds|resume|checkpoint|checkpoint-every|output|model|file)":'
  "$advgp" predict "$1" in/new.csv 2>&1
}
undisturbed() { # ARGUMENTS: sets run, took (ms) and what the model says
  run=("${data[@]}" --components auto --epochs 25 --batch 400 --patience inf "$@")
  local start
  start=$(date +%s%N)
  "$advgp" "${run[@]}" -o out/undisturbed >said.out 2>said.err || tell "the undisturbed run: $(cat said.err)"
  took=$((($(date +%s%N) - start) / 1000000))
  describe out/undisturbed >wanted
  (( took < 20000 )) || rounds=1 # a sanitizer
  echo "an undisturbed run with $* takes $took ms"
}

resume() { # NAME MODEL CHECKPOINT: ends as the undisturbed run
  "${bounded[@]}" "$advgp" "${run[@]}" --resume "$3" -o "$2" --checkpoint "$3" >said.out 2>said.err || tell "$1: resume failed: $(cat said.err)"
  diff <(describe "$2") wanted >difference || tell "$1: the resumed model is another: $(head -c 600 difference)"
}
nap() { sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')"; }
rand_ms() { echo $(((RANDOM * 32768 + RANDOM) % ($1 + 1))); }

interrupt() { # SIGNAL EXIT: at a random moment of the run
  local at code
  n_cases=$((n_cases + 1))
  at=$(rand_ms $((took * 9 / 10)))
  rm -f out/m out/m.checkpoint
  "$advgp" "${run[@]}" -o out/m >said.out 2>said.err &
  local pid=$!
  nap "$at"
  kill -"$1" $pid 2>/dev/null
  wait $pid
  code=$?
  local name="$1 after $at ms"
  if [[ $code == 0 ]]; then # over, or in the finish pass: then it is the undisturbed run
    diff <(describe out/m) wanted >/dev/null || tell "$name: exit 0 with another model"
    return
  fi
  [[ $code == "$2" ]] || tell "$name: exit $code, expected $2: $(cat said.err)"
  if [[ ! -e out/m ]]; then # before the first step there is nothing to keep, and before its first words nothing to say
    [[ ! -s said.err ]] || grep -q 'while reading' said.err || tell "$name: no model: $(cat said.err)"
    [[ ! -e out/m.checkpoint ]] || tell "$name: a checkpoint without a model"
    return
  fi
  [[ -s out/m.checkpoint ]] || { tell "$name: no checkpoint"; return; }
  grep -q -- '--resume out/m.checkpoint' said.err || tell "$name: not told how to go on: $(cat said.err)"
  "$advgp" predict out/m in/new.csv >said.out 2>said.err && [[ $(wc -l <said.out) == 3 ]] || tell "$name: the model is not usable: $(cat said.err)"
  resume "$name" out/m out/m.checkpoint
}

again() { # interrupted, resumed, interrupted, resumed
  n_cases=$((n_cases + 1))
  rm -f out/a out/c
  "$advgp" "${run[@]}" -o out/a --checkpoint out/c --checkpoint-every 1 >/dev/null 2>&1 &
  until_there out/c $! # by its own clock, wherever the run is then
  kill -INT $!
  wait $!
  [[ -s out/c ]] || { tell 'twice: no checkpoint'; return; }
  timeout -s TERM "$(awk -v ms="$((took / 3))" 'BEGIN { print ms / 1000 }')" "$advgp" "${run[@]}" -o out/a --checkpoint out/c --resume out/c >/dev/null 2>&1
  resume 'interrupted twice' out/a out/c
}

murder() {
  local at
  n_cases=$((n_cases + 1))
  rm -f out/k out/k.checkpoint
  "$advgp" "${run[@]}" -o out/k --checkpoint-every 1 >said.out 2>said.err &
  local pid=$!
  at=$((took / 2 + $(rand_ms $((took / 3)))))
  nap "$at"
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  rm -f out/.advgp-*.tmp # it may have been killed while it wrote a checkpoint
  [[ ! -e out/k ]] || { echo "round skipped: it was over before the kill"; return; }
  [[ -s out/k.checkpoint ]] || { echo "round skipped: killed before the first checkpoint"; return; }
  resume "killed after $at ms" out/k out/k.checkpoint
}

undisturbed "${whole[@]}"
for ((i = 0; i < rounds; i++)); do
  (( i != 1 )) || undisturbed "${steps[@]}"
  interrupt INT 130
  interrupt TERM 143
  murder
done
again

# A second signal ends the program at once: nobody should have to find kill -9.
n_cases=$((n_cases + 1))
"$advgp" "${data[@]}" --epochs 100000 --patience inf -o out/s >said.out 2>said.err &
pid=$!
nap 1500
kill -INT $pid
kill -INT $pid
wait $pid
code=$?
[[ $code == 130 ]] || tell "two signals: exit $code"

# Packing stops too, and leaves nothing.
n_cases=$((n_cases + 1))
for ((i = 0; i < 30; i++)); do tail -n +2 in/rows.csv; done | { head -n 1 in/rows.csv; cat; } >in/long.csv
timeout -s INT 0.2 "$advgp" pack in/long.csv --target y -q -o out/packed >said.out 2>said.err
code=$?
[[ -z $(ls -A out | grep packed) || -f out/packed/manifest.json ]] || tell "pack, interrupted (exit $code): left $(ls -A out)"
[[ -z $(ls -A out | grep tmp) ]] || tell "pack, interrupted: left $(ls -A out)"
end_report 6 # one round, under a sanitizer
