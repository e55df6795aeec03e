#!/usr/bin/env bash
# Who is the lead and who a worker, by what a launcher says in the environment; where they find each other; and what is refused
# before anything is waited for.
#   roles.sh ADVGP [CASE...]      each case once; 10 times with ADVGP_LONG=1
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
has_transport zmq || skip 'built without ZeroMQ'
table 3000 1 >rows.csv
"$advgp" pack rows.csv --target y --shards 12 -o packed >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }
run=(train ../packed --transport zmq -m 12 --components 1 --noise constant --epochs 20 --batch 300 --patience inf
  --heartbeat 0.2 --lost-after 2 -o model)
naps=(--delay-worker '0:0.04,1:0.04')
joined() { [[ $(n_lines "$1" '"event":"peer_joined"') == "$2" ]] || tell "$(n_lines "$1" '"event":"peer_joined"') workers came, expected $2"; }

# ---- launchers ------------------------------------------------------------------------------------------------------

task() { # RANK SIZE STEP ARGUMENTS: as srun starts it
  start "task$1.$3" env SLURM_JOB_ID=4711 SLURM_STEP_ID="$3" SLURM_PROCID="$1" SLURM_NTASKS="$2" SLURM_STEP_NUM_TASKS="$2" \
    SLURM_JOB_NUM_NODES=1 SLURM_STEP_NUM_NODES=1 "$advgp" "${run[@]}" "${@:4}"
}
case_slurm() { # one command for all tasks; the last ones may be there before the first
  local of=()
  for k in 2 1 0; do task $k 3 0 --log log; of[k]=$pid; done
  for k in 0 1 2; do ends "task$k.0" "${of[k]}" 0; done
  joined log 2
  says task0.0.err 'rendezvous advgp-4711.rendezvous' 'expects 2 workers'
  says task1.0.err 'started by srun' 'is worker 0 from now on'
  says task2.0.err 'started by srun' 'is worker 1 from now on'
  [[ ! -e advgp-4711.rendezvous ]] || tell 'the rendezvous file is left behind'
}
case_slurm_late() { # another step of the job: its tasks are of ranks 0 to 2 again, but a lead lives, and workers of these ranks
  local of=()
  for k in 0 1 2; do task $k 3 0 "${naps[@]}" --log log; of[k]=$pid; done
  lead=${of[0]}
  await_version 10 || return
  for k in 0 1 2; do task $k 3 1 "${naps[@]}" --log log; of[k + 3]=$pid; done
  for k in 0 1 2; do ends "task$k.0" "${of[k]}" 0; ends "task$k.1" "${of[k + 3]}" 0; done
  says task0.1.err 'a lead lives there already, so this task joins it as a worker'
  joined log 5
}
case_kubernetes() { # an indexed job
  local of=()
  for k in 1 0 2; do start "pod$k" env JOB_COMPLETION_INDEX=$k "$advgp" "${run[@]}" --workers 2 --rendezvous rv --log log; of[k]=$pid; done
  for k in 0 1 2; do ends "pod$k" "${of[k]}" 0; done
  joined log 2
  says pod2.err 'started by Kubernetes' 'is worker 1 from now on'
}
case_by_hand() { # the server named as such, workers by the same verb
  start lead "$advgp" "${run[@]}" --role server --listen 127.0.0.1:0 --workers 2 --log log; lead=$pid
  await lead.err 'join with advgp work --server' || return
  says lead.err '(encrypted)' # other users of this machine have no key
  local at
  at=$(sed -nE 's/.*join with advgp work --server ([^;]+);.*/\1/p' lead.err)
  mkdir -m 700 elsewhere
  start stranger env -u XDG_RUNTIME_DIR TMPDIR="$PWD/elsewhere" "$advgp" work --server "$at" # as one who cannot read the file
  ends stranger "$pid" 6
  start one "$advgp" "${run[@]}" --role worker --server "$at"; local one=$pid
  start two "$advgp" "${run[@]}" --server "$at"; local two=$pid # who knows a server is a worker
  ends lead "$lead" 0
  ends one "$one" 0
  ends two "$two" 0
}

# ---- the rendezvous file --------------------------------------------------------------------------------------------

case_stale() { # of a lead that was killed
  start lead "$advgp" "${run[@]}" --workers 2 --rendezvous rv --log log1
  await lead.err 'lead at' || return
  killed "$pid"
  [[ -e rv ]] || tell 'the dead lead has left no file'
  start lead "$advgp" "${run[@]}" --workers 2 --rendezvous rv --log log; lead=$pid
  for k in 1 2; do start "work$k" "$advgp" work --rendezvous rv; done
  ends lead "$lead" 0
  joined log 2
}
case_second_lead() {
  start lead "$advgp" "${run[@]}" "${naps[@]}" --workers 2 --rendezvous rv --log log; lead=$pid
  for k in 1 2; do start "work$k" "$advgp" work --rendezvous rv; done
  await_version 5 || return
  start second "$advgp" "${run[@]}" --workers 2 --rendezvous rv
  ends second "$pid" 2
  says second.err 'rv: a lead lives there already; join it with advgp work --rendezvous, or name another file'
  start third "$advgp" "${run[@]}" --role server --workers 2 --rendezvous rv
  ends third "$pid" 2
  says third.err 'a lead lives there already'
  ends lead "$lead" 0
}
case_at_once() { # of leads that are started at the same instant one wins, and the others say so
  local of=() won=0
  for k in 1 2 3 4; do start "lead$k" "$advgp" "${run[@]}" --workers 1 --rendezvous rv --log "log$k"; of[k]=$pid; done
  settled() { grep -qE 'lead at|a lead lives there already' "$1"; }
  for k in 1 2 3 4; do until_true settled "lead$k.err" || tell "lead $k: $(tail -n 2 "lead$k.err")"; done
  for k in 1 2 3 4; do
    if grep -q 'lead at' "lead$k.err"; then won=$((won + 1)); lead=${of[k]}; else ends "lead$k" "${of[k]}" 2; fi
  done
  [[ $won == 1 ]] || tell "$won of 4 lead"
  start work "$advgp" work --rendezvous rv
  ends lead "$lead" 0
  [[ ! -e rv.lock ]] || tell 'the lock is left behind'
}
case_standing_still() { # a lead that is stopped lives
  start lead "$advgp" "${run[@]}" --workers 1 --rendezvous rv --log log; lead=$pid
  await lead.err 'lead at' || return
  kill -STOP "$lead"
  lives_for
  kill -CONT "$lead"
  start work "$advgp" work --rendezvous rv
  ends lead "$lead" 0
}
keys() { "$advgp" keygen "$1" >keygen.out 2>&1 || tell "keygen: $(cat keygen.out)"; }
lives_for() { # ARGUMENTS: of a second lead, which leaves the first one's file alone
  cp rv before
  start second "$advgp" "${run[@]}" --workers 1 --rendezvous rv "$@"
  ends second "$pid" 2
  says second.err 'rv: a lead lives there already'
  cmp -s rv before || tell "the file of a living lead was replaced by one with $*"
}
case_keys_of_a_lead() { # it has server.key and allow, and no worker's key
  keys k
  mkdir mine; cp k/server.key k/allow mine
  start lead "$advgp" "${run[@]}" --workers 1 --keys mine --rendezvous rv --log log1
  await lead.err 'lead at' || return
  lead=$pid
  lives_for --keys mine
  lives_for
  killed "$lead"
  start lead "$advgp" "${run[@]}" --workers 1 --keys mine --rendezvous rv --log log; lead=$pid
  start work "$advgp" work --rendezvous rv --keys k
  ends lead "$lead" 0
  joined log 1
}
case_keys_no_more() { # the dead lead had keys, this one has none
  keys k
  start lead "$advgp" "${run[@]}" --workers 1 --keys k --rendezvous rv --log log1
  await lead.err 'lead at' || return
  killed "$pid"
  start work "$advgp" work --rendezvous rv
  ends work "$pid" 2
  says work.err 'lets in only workers with keys'
  start lead "$advgp" "${run[@]}" --workers 1 --rendezvous rv --log log; lead=$pid
  await lead.err 'lead at' || return
  start work "$advgp" work --rendezvous rv
  ends lead "$lead" 0
}
case_refusing_lead() { # whom it does not let in knows by that that it lives
  keys k; keys others
  sed -i 's/^.*# worker$//' k/allow
  start lead "$advgp" "${run[@]}" --workers 1 --keys k --rendezvous rv; lead=$pid
  await lead.err 'lead at' || return
  lives_for --keys k
  lives_for --keys others
}
case_alone() { # on this machine alone a lead has keys, too, and nobody without them is heard
  start lead "$advgp" "${run[@]}" --workers 1 --rendezvous rv --log log; lead=$pid
  await lead.err 'lead at' || return
  says lead.err 'lead at tcp://127.0.0.1:' '(encrypted)'
  [[ $(stat -c %a rv) == 600 ]] || tell "the file has mode $(stat -c %a rv)"
  grep -q '"secret"' rv || tell 'the file carries no key'
  start stranger "$advgp" work --server "127.0.0.1:$(sed -nE 's/.*lead at [^ ]*:([0-9]+) .*/\1/p' lead.err)"
  ends stranger "$pid" 6
  says stranger.err 'it asks for a key, and the worker has none'
  start work "$advgp" work --rendezvous rv
  ends lead "$lead" 0
}
case_published() { # the file is for its owner alone, and where others could reach the lead it carries keys
  start lead "$advgp" "${run[@]}" --workers 1 --listen 0.0.0.0:0 --rendezvous rv --log log; lead=$pid
  await lead.err 'lead at' || return
  says lead.err '(encrypted)'
  [[ $(stat -c %a rv) == 600 ]] || tell "the file has mode $(stat -c %a rv)"
  start stranger "$advgp" work --server "127.0.0.1:$(sed -nE 's/.*lead at [^ ]*:([0-9]+) .*/\1/p' lead.err)"
  ends stranger "$pid" 6
  start work "$advgp" work --rendezvous rv
  ends lead "$lead" 0
}

# ---- what is refused at once ----------------------------------------------------------------------------------------

n_refused=0
refused() { # CODE MESSAGE ARGUMENTS
  local want=$1 message=$2 code
  shift 2
  n_refused=$((n_refused + 1))
  start refused "$advgp" "$@"
  ends refused "$pid" "$want" || echo "  it was: advgp $*"
  says refused.err "advgp: $message"
  [[ ! -e model && ! -e rv ]] || tell "something was written by: $*"
}
case_refused() {
  refused 2 '--min-workers 4 is more than the 3 workers of the run' "${run[@]}" --workers 3 --min-workers 4
  refused 2 '--max-workers 2 leaves no place for the 3 workers of the run' "${run[@]}" --workers 3 --max-workers 2
  refused 2 '--lost-after 1: a worker gives a sign of life every 2 seconds (--heartbeat); allow for two of them at least' \
    train ../packed --transport zmq --heartbeat 2 --lost-after 1 -o model
  refused 2 "--heartbeat '4': must be a number from 0.05 to 3" train ../packed --transport zmq --heartbeat 4 -o model
  refused 2 '--server is for workers: a server says with --listen where it is' "${run[@]}" --role server --server localhost:4000
  refused 2 'a worker must find its lead: name it with --server HOST:PORT, or a file on a shared disk with --rendezvous FILE' "${run[@]}" --role worker
  refused 2 'where is the lead? Name it with --server HOST:PORT, or the file of its --rendezvous' work
  refused 2 "--listen: 'nosuchif0' is no interface, address or host name" "${run[@]}" --listen nosuchif0
  refused 2 "--listen: '127.0.0.1:99999' is no address" "${run[@]}" --listen 127.0.0.1:99999
  refused 2 'tcp://0.0.0.0:0 is open to other machines, so workers need keys: make them with `advgp keygen DIR`' "${run[@]}" --listen 0.0.0.0:0
  refused 2 'the lead at tcp://10.1.1.1:4000 is on another machine, so this worker needs keys' work --server 10.1.1.1:4000
  refused 2 "'nonsense' is no address: HOST:PORT" work --server nonsense
  refused 3 'there is no key file nosuch/server.key: make it with `advgp keygen DIR`' "${run[@]}" --keys nosuch
  refused 3 'there is no key file nosuch: make it with `advgp keygen DIR`' work --server localhost:4000 --keys nosuch
  refused 1 'cannot write /nosuch/rv: No such file or directory' "${run[@]}" --rendezvous /nosuch/rv
  refused 2 'workers in other processes read packed rows: pack the table with advgp pack' train ../rows.csv --target y --transport zmq -o model
  refused 2 '--transport has no meaning for --method svigp' "${run[@]}" --method svigp
  refused 2 "--id '-1': must be a whole number from 0 to 4095, or any" work --server localhost:4000 --id -1
  refused 2 "--workers '0': must be" "${run[@]}" --workers 0
  refused 2 "--min-workers '0': must be" "${run[@]}" --min-workers 0
  refused 2 "--role 'boss'" "${run[@]}" --role boss
  refused 2 "--on-loss 'panic'" "${run[@]}" --on-loss panic
  refused 2 '--transport' work --transport mpi --server localhost:4000
  echo junk >junk
  refused 4 'the rendezvous junk cannot be used: it is damaged or foreign' work --rendezvous junk
  refused 4 'name another file, this one is left as it is: the rendezvous junk cannot be used' "${run[@]}" --rendezvous junk
  [[ $(cat junk) == junk ]] || tell 'a file that is no rendezvous was overwritten'
  echo "$n_refused refusals"
}
case_port_in_use() {
  start lead "$advgp" "${run[@]}" --workers 1 --listen 127.0.0.1:0; lead=$pid
  await lead.err 'lead at' || return
  local at
  at=127.0.0.1:$(sed -nE 's/.*lead at [^ ]*:([0-9]+)[ ,].*/\1/p' lead.err)
  refused 1 "cannot listen at tcp://$at: Address already in use; choose another address or port with --listen" "${run[@]}" --workers 1 --listen "$at"
}
cases slurm slurm_late kubernetes by_hand stale second_lead at_once standing_still keys_of_a_lead keys_no_more refusing_lead alone published refused port_in_use
end_report
