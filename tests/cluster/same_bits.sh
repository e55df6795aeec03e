#!/usr/bin/env bash
# Without delay a training is the same to the bit, whoever carries its messages; with delay its log computes it again.
#   same_bits.sh ADVGP [CASE...]      each case once; 10 times with ADVGP_LONG=1
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
has_transport zmq || skip 'built without ZeroMQ'
table 3000 1 >rows.csv
"$advgp" pack rows.csv --target y --shards 12 -o packed >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }

# by_threads, by_zmq, by_mpi: WORKERS LOG ARGUMENTS of train
by_threads() {
  local workers=$1 log=$2
  shift 2
  "${bounded[@]}" "$advgp" "$@" --workers "$workers" -o "$log.model" --log "$log" -q >"$log.out" 2>&1 || tell "$log: exit $?: $(tail -n 3 "$log.out")"
}
by_zmq() { # key_dir empty: plain
  local workers=$1 log=$2 k of=() secret=() before=${#pids[@]}
  shift 2
  [[ -n $key_dir ]] && secret=(--keys "$key_dir")
  for ((k = 1; k <= workers; k++)); do
    start "$log.work$k" "$advgp" work --rendezvous "$log.rv" ${secret[@]+"${secret[@]}"}
    of+=("$pid")
  done
  start "$log.lead" "$advgp" "$@" --transport zmq --rendezvous "$log.rv" --workers "$workers" ${secret[@]+"${secret[@]}"} -o "$log.model" --log "$log"
  ends "$log.lead" "$pid" 0
  for ((k = 1; k <= workers; k++)); do ends "$log.work$k" "${of[k - 1]}" 0; done
}
by_mpi() {
  local workers=$1 log=$2
  shift 2
  "${bounded[@]}" "${mpirun[@]}" -n $((workers + 1)) "$advgp" "$@" --transport mpi -o "$log.model" --log "$log" -q >"$log.out" 2>&1 ||
    tell "$log: exit $?: $(tail -n 3 "$log.out")"
}
same() { # LOG...: the bits of the first are those of all
  local first log
  first=$(bits "$1")
  [[ -n $first ]] || tell "$1 has no bits"
  for log; do [[ $(bits "$log") == "$first" ]] || tell "$log: bits $(bits "$log"), $1 has $first"; done
  echo "$first: $*"
}
replays() { # LOG: is computed again, bit for bit
  "${bounded[@]}" "$advgp" replay "$1" -o "$1.again" >"$1.replay" 2>&1 || tell "replay of $1: exit $?: $(tail -n 3 "$1.replay")"
  says "$1.replay" "the same model, bit for bit ($(bits "$1"))"
}
key_dir=
all_ways() { # WORKERS ARGUMENTS
  local logs=(threads plain curve)
  by_threads "$1" threads "${@:2}"
  key_dir= by_zmq "$1" plain "${@:2}"
  "$advgp" keygen keys >/dev/null 2>&1 || tell 'keygen'
  key_dir=keys by_zmq "$1" curve "${@:2}"
  (( with_mpi )) && { by_mpi "$1" mpi "${@:2}"; logs+=(mpi); }
  same "${logs[@]}"
  replays plain
  (( with_mpi )) && replays mpi
}
tiny=(train ../packed -m 12 --components 1 --noise constant) # the noise of each row in the pilots' case alone
small=("${tiny[@]}" --epochs 3)
for n in 1 2 3; do
  eval "case_natural_$n() { all_ways $n \"\${small[@]}\" --max-delay 0; }"
  eval "case_prox_$n() { all_ways $n \"\${small[@]}\" --max-delay 0 --optimizer prox; }"
  eval "case_lbfgs_$n() { all_ways $n \"\${small[@]}\" --method distgp-lbfgs; }"
done
case_gradient_descent() { all_ways 2 "${small[@]}" --method distgp-gd; }
case_pilots() { all_ways 2 train ../packed -m 40 --epochs 3 --max-delay 0; } # several runs over the same workers
case_filter() { all_ways 2 "${small[@]}" --max-delay 0 --filter 0.1; }
case_cache() { # from a table that the lead packs; the workers read it where it says
  local csv=(train ../rows.csv --target y --cache cache -m 12 --components 1 --noise constant --epochs 3 --max-delay 0)
  all_ways 2 "${csv[@]}"
  [[ -d cache ]] || tell 'there is no cache'
}
# Cells are fitted by whoever is there: few rows each, by the evidence, and many, by the bound.
case_cells() {
  all_ways 2 "${small[@]}" --max-delay 0 --cells 6
  grep -qE '[1-9][0-9]* tasks? of cells' plain.work*.err || tell "no worker did a task: $(tail -qn 1 plain.work*.err)"
}
case_cells_large() { all_ways 2 "${small[@]}" --max-delay 0 --cells 2; }
# Lost or standing still while cells are fitted: costs time and no bit.
many=(train many -m 12 --components 1 --noise constant --epochs 3 --max-delay 0 --cells 10)
many_by_threads() {
  table 12000 5 >many.csv
  "$advgp" pack many.csv --target y --shards 12 -o many >/dev/null 2>&1 || tell 'pack'
  by_threads 3 threads "${many[@]}"
}
case_cells_killed() { # one is killed, one stands still
  many_by_threads
  start lead "$advgp" "${many[@]}" --transport zmq --workers 3 --rendezvous rv --heartbeat 0.2 --lost-after 2 -o zmq.model --log zmq
  local lead=$pid w=()
  for k in 0 1 2; do start "work$k" "$advgp" work --rendezvous rv; w[k]=$pid; done
  await lead.err 'cells: ' || return
  signal STOP "${w[1]}"
  killed "${w[2]}"
  ends lead "$lead" 0 || return
  ends work0 "${w[0]}" 0
  says lead.err 'the fit of a cell, goes to the others'
  same threads zmq
}
case_cells_killed_mpi() { # one is killed
  (( with_mpi )) || return
  many_by_threads
  start lead "${mpirun[@]}" --enable-recovery -n 4 "$advgp" "${many[@]}" --transport mpi --heartbeat 0.2 --lost-after 2 -o mpi.model --log mpi
  local lead=$pid
  await lead.err 'cells: ' || return
  kill -KILL "$(sed -nE 's/.*:([0-9]+): worker process.*/\1/p' lead.err | head -n 1)"
  ends lead "$lead" 0 || return
  same threads mpi
}

# ---- with delay: the log --------------------------------------------------------------------------------------------

slow=("${tiny[@]}" --epochs 40 --batch 600 --patience inf --max-delay 20 --quorum 0.5 --heartbeat 0.2 --lost-after 2)
case_replay_zmq() { # one is killed, one comes late
  local lead w
  start lead "$advgp" "${slow[@]}" --delay-worker 0:0.01,1:0.02,2:0.03 --transport zmq --workers 3 --rendezvous rv -o log.model --log log
  lead=$pid
  for k in 1 2 3; do start "work$k" "$advgp" work --rendezvous rv; w=$pid; done
  await_version 20 || return
  killed "$w"
  await log '"event":"peer_lost"' || return
  start late "$advgp" work --rendezvous rv
  await log '"event":"peer_joined"' 4 || return
  ends lead "$lead" 0 || return
  replays log
}
case_replay_mpi() { # one is killed
  (( with_mpi )) || return
  local lead
  start lead "${mpirun[@]}" --enable-recovery -n 4 "$advgp" "${slow[@]}" --delay-worker 0:0.01,1:0.02,2:0.03 --transport mpi -o log.model --log log
  lead=$pid
  await_version 20 || return
  kill -KILL "$(sed -nE 's/.*:([0-9]+): worker process.*/\1/p' lead.err | head -n 1)"
  await log '"event":"peer_lost"' || return
  ends lead "$lead" 0 || return
  replays log
}
cases natural_1 natural_2 natural_3 prox_1 prox_2 prox_3 lbfgs_1 lbfgs_2 lbfgs_3 gradient_descent pilots filter cache cells cells_large cells_killed cells_killed_mpi replay_zmq replay_mpi
end_report
