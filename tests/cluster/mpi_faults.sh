#!/usr/bin/env bash
# A training over MPI whose processes die: a worker, then the lead; and launchers that start something else than a training.
#   mpi_faults.sh ADVGP [CASE...]      each case once; 10 times with ADVGP_LONG=1
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
has_transport mpi || skip 'built without MPI'
(( with_mpi )) || skip 'there is no mpirun of Open MPI'

table 20000 1 >rows.csv
table 2000 2 >test.csv
"$advgp" pack rows.csv --target y -o packed >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }
# Every rank writes which process it is and with which code it ended; the flag for recovery is mpirun's way to let the others
# go on.
cat >rank.sh <<'END'
trap : TERM
"$@" &
echo $! >"rank$OMPI_COMM_WORLD_RANK.pid"
while wait $!; code=$?; kill -0 $! 2>/dev/null; do :; done
echo "$code" >"rank$OMPI_COMM_WORLD_RANK.code"
exit "$code"
END
run=(train ../packed --transport mpi -m 20 --components 1 --batch 600 --epochs 6 --patience inf --noise constant --cells none
  --heartbeat 0.2 --lost-after 3 --delay-worker 0:0.03,1:0.03,2:0.03 --checkpoint state --checkpoint-every 1 --test ../test.csv -o model --json --log log)
ranks() { rm -f rank*.code rank*.pid; start lead "${mpirun[@]}" --enable-recovery -n 4 bash ../rank.sh "$advgp" "${run[@]}" "$@"; lead=$pid; }
to_rank() { kill "-$1" "$(cat "rank$2.pid")"; } # SIGNAL RANK
as_good() { close_to 'RMSE on the test' "$(number lead.out rmse)" "$(cat "$scratch/reference")" 0.01; }
code_of() { # RANK CODE
  [[ $(cat "rank$1.code" 2>&1) == "$2" ]] || tell "rank $1: exit $(cat "rank$1.code" 2>&1), expected $2"
}

case_undisturbed() {
  ranks
  ends lead "$lead" 0 || return
  for k in 0 1 2 3; do code_of $k 0; done
  number lead.out rmse >"$scratch/reference"
  echo "RMSE $(cat "$scratch/reference"), $(number lead.out wall_seconds) s"
}
case_kill_worker() {
  ranks
  await_version 30 || return
  to_rank KILL 2
  ends lead "$lead" 0
  code_of 0 0
  as_good
  [[ $(n_lines log '"event":"peer_lost"') == 1 ]] || tell "$(n_lines log '"event":"peer_lost"') peers lost in the log"
  says lead.err 'is lost after' 'its shards go to the others'
}
case_kill_two() {
  ranks
  await_version 30 || return
  to_rank KILL 1; to_rank KILL 3
  ends lead "$lead" 0
  code_of 0 0
  as_good
  [[ $(n_lines log '"event":"peer_lost"') == 2 ]] || tell "$(n_lines log '"event":"peer_lost"') peers lost in the log"
}
case_kill_lead() { # the workers end, and say why; another mpirun goes on
  ranks
  await log '"event":"checkpoint"' || return
  to_rank KILL 0
  until_true gone "$lead" || { tell "the workers hang: $(tail -n 4 lead.err)"; return; }
  for k in 1 2 3; do code_of $k 6; done
  says lead.err 'it is gone, or cannot be reached; start it again with --resume'
  ranks --resume state
  ends lead "$lead" 0
  as_good
}
case_worker_term() {
  ranks
  await_version 30 || return
  to_rank TERM 2 # it goes on for its lead's sake, as a launcher that tells all to stop would want it
  ends lead "$lead" 0
  code_of 0 0
  as_good
}
case_lead_term() {
  ranks
  await log '"event":"checkpoint"' || return
  to_rank TERM 0
  until_true gone "$lead" || { tell "it hangs: $(tail -n 4 lead.err)"; return; }
  code_of 0 143
  for k in 1 2 3; do code_of $k 6; done
  says lead.err 'go on with --resume state' 'the lead has ended: interrupted'
  "$advgp" evaluate model ../test.csv --json >half.out 2>half.err || tell "the model so far: $(cat half.err)"
  ranks --resume state
  ends lead "$lead" 0
  as_good
}
case_all_term() { # as mpirun is told to stop by a batch system: it passes it on
  ranks
  await log '"event":"checkpoint"' || return
  signal TERM "$lead"
  until_true gone "$lead" || { tell "it hangs: $(tail -n 4 lead.err)"; return; }
  ranks --resume state
  ends lead "$lead" 0
  as_good
}
case_loss_stops() {
  ranks --on-loss stop
  await_version 30 || return
  to_rank KILL 2
  until_true gone "$lead" || { tell "it hangs: $(tail -n 4 lead.err)"; return; }
  code_of 0 6
  says lead.err '--on-loss is stop' 'go on with --resume state' 'the lead has ended'
  ranks --on-loss stop --resume state
  ends lead "$lead" 0
  as_good
}

# ---- what launchers do wrong ----------------------------------------------------------------------------------------

refused() { # WHAT FRAGMENT COMMAND...: exit 2, and the message
  local what=$1 fragment=$2
  shift 2
  start "$what" "$@"
  ends "$what" "$pid" 2
  says "$what.err" "$fragment"
  [[ ! -e model && ! -e log && ! -e state ]] || tell "$what: something was written"
}
case_launchers() {
  refused alone 'start with mpirun -n N or srun --mpi=pmix -n N, N at least 2' "$advgp" "${run[@]}"
  refused one 'N at least 2' "${mpirun[@]}" -n 1 "$advgp" "${run[@]}"
  refused no_pmix 'srun started 4 tasks but MPI sees one process: use srun --mpi=pmix' \
    env SLURM_NTASKS=4 SLURM_PROCID=1 SLURM_STEP_ID=0 "$advgp" "${run[@]}"
  refused worlds 'mpiexec started 3 processes but MPI sees one' env PMI_SIZE=3 PMI_RANK=1 "$advgp" "${run[@]}"
}

wanted_all=(${wanted[@]+"${wanted[@]}"})
wanted=() rounds_all=$rounds rounds=1
cases undisturbed
[[ -s reference ]] || end_report
wanted=(${wanted_all[@]+"${wanted_all[@]}"}) rounds=$rounds_all at_once=${ADVGP_AT_ONCE-4}
cases kill_worker kill_two kill_lead worker_term lead_term all_term loss_stops launchers
end_report
