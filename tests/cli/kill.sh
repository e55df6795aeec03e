#!/usr/bin/env bash
# kill -9 at any moment: the run goes on from its checkpoint and ends where an undisturbed one does, to the bit without
# delay, and as good with one.
#   kill.sh ADVGP      5 kills; 50 with ADVGP_LONG=1
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
rounds=5
[[ -n ${ADVGP_LONG-} ]] && rounds=50
RANDOM=${ADVGP_SEED-$$}
echo "seed ${ADVGP_SEED-$$}"

table 6000 3 >in/rows.csv
# Each version costs a nap, not CPU, so that a run lasts seconds on any machine; a checkpoint every second, the least.
data=(train in/rows.csv --target y -m 20 --components 1 -q --workers 2 --batch 500 --patience inf --checkpoint-every 1)
steps=(--noise constant --cells none)
nap() { sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')"; }
rand_ms() { echo $(((RANDOM * 32768 + RANDOM) % ($1 + 1))); }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
bits() { grep '"event":"done"' "$1" | tail -n 1 | sed -nE 's/.*"bits":"([0-9a-f]+)".*/\1/p'; }
rmse() { grep '"event":"done"' "$1" | tail -n 1 | sed -nE 's/.*"rmse":([0-9.eE+-]+).*/\1/p'; }

undisturbed() { # sets took, and out/undisturbed.log
  local start
  start=$(now_ms)
  "$advgp" "${run[@]}" -o out/undisturbed --log out/undisturbed.log >said.out 2>said.err || tell "the undisturbed run: $(cat said.err)"
  took=$(($(now_ms) - start))
  echo "undisturbed: $took ms, bits $(bits out/undisturbed.log), RMSE $(rmse out/undisturbed.log)"
}

n_kills=0
start() { # KILL_AFTER_MS ARGUMENTS: sets code, 137 if it was killed
  local at=$1 pid
  shift
  "$advgp" "${run[@]}" -o out/k --checkpoint out/k.c --log out/log "$@" >said.out 2>said.err &
  pid=$!
  nap "$at"
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  code=$?
  (( code != 137 )) || n_kills=$((n_kills + 1))
}
go_on() { # NAME: from the checkpoint if the kill came after the first, else from the start
  local go=()
  rm -f out/.advgp-*.tmp # of a write that the kill cut short; the checkpoint itself is never half
  [[ ! -e out/k.c ]] || go=(--resume out/k.c)
  "${bounded[@]}" "$advgp" "${run[@]}" -o out/k --checkpoint out/k.c --log out/log "${go[@]}" >said.out 2>said.err || tell "$1: resumed: exit $?: $(cat said.err)"
}
murder() { # NAME MS: killed then, now and then killed again after it was resumed
  local name=$1
  n_cases=$((n_cases + 1))
  rm -f out/k out/k.* out/log
  start "$2"
  [[ $code == 0 ]] && { echo "$name: it was over before the kill"; return; }
  [[ $code == 137 ]] || tell "$name: exit $code: $(cat said.err)"
  if [[ -e out/k.c ]] && (( RANDOM % 4 == 0 )); then
    start "$(rand_ms "$took")" --resume out/k.c
    [[ $code != 0 ]] || return
  fi
  go_on "$name"
}

# ---- without delay: the same bits
run=("${data[@]}" "${steps[@]}" --epochs 18 --delay-worker 0:0.015,1:0.02)
undisturbed
for ((i = 0; i < rounds; i++)); do
  at=$((300 + $(rand_ms $((took - 300)))))
  (( i )) || at=$((took * 2 / 3)) # at least one after a checkpoint
  murder "killed after $at ms" "$at"
  [[ $(bits out/log) == "$(bits out/undisturbed.log)" ]] || tell "killed after $at ms: bits $(bits out/log), not $(bits out/undisturbed.log)"
done
(( n_kills > 0 )) || tell 'nothing was killed'

# ---- after the steps: they stay made, however short they were
table 2500 4 >in/few.csv
run=(train in/few.csv --target y -m 20 --components 1 --epochs 10 --batch 500 --cells 4 --checkpoint-every 1)
answers() { "$advgp" predict "$1" in/few.csv -q | cksum; }
undisturbed
wanted=$(answers out/undisturbed)
for act in finish cells noise; do
  n_cases=$((n_cases + 1)) before=$n_kills
  : >said.err # the words of the run before
  rm -f out/k out/k.* out/log
  "$advgp" "${run[@]}" -o out/k --checkpoint out/k.c --log out/log >said.out 2>said.err &
  pid=$!
  until_found "^advgp: $act" said.err $pid
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  [[ $? != 137 ]] || n_kills=$((n_kills + 1))
  [[ $act == finish || $n_kills != "$before" ]] || tell "$act: it was over before the kill"
  [[ -s out/k.c ]] || tell "killed in $act: no checkpoint"
  go_on "killed in $act"
  [[ $(bits out/log) == "$(bits out/undisturbed.log)" && $(answers out/k) == "$wanted" ]] || tell "killed in $act: another model"
  [[ $(grep -c '"event":"advance"' out/log) == $(grep -c '"event":"advance"' out/undisturbed.log) ]] || tell "killed in $act: steps were made again"
done

# ---- with delay: as good
run=("${data[@]}" "${steps[@]}" --epochs 18 --max-delay 4 --quorum 0.5 --delay-worker 0:0.015,1:0.03)
undisturbed
for ((i = 0; i < (rounds + 3) / 4; i++)); do
  at=$(((took + $(rand_ms "$took")) / 2))
  murder "delay 4, killed after $at ms" "$at"
  close_to "delay 4, killed after $at ms: RMSE" "$(rmse out/log)" "$(rmse out/undisturbed.log)" 0.05
done
echo "$n_kills kills"
end_report $((rounds + 4))
