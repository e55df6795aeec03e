#!/usr/bin/env bash
# Parameters on several servers, a range each: the bits of one server at delay 0, over ZeroMQ and MPI, and what becomes of a
# run that loses a server or a worker.
#   servers.sh ADVGP [CASE...]      each case once; 10 times with ADVGP_LONG=1; quiet only then, or by its name
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
has_transport zmq || skip 'built without ZeroMQ'

table 8000 1 >rows.csv
table 2000 2 >test.csv
"$advgp" pack rows.csv --target y -o packed >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }
run=(train ../packed -m 20 --components 1 --batch 400 --epochs 12 --patience inf --test ../test.csv --json)
plain=(--noise constant --cells none) # one case (two_servers) goes without
prox=(--optimizer prox -o model --log log)
over=(--transport zmq --rendezvous rv --heartbeat 0.2)

alone() { # ARGUMENTS: the same by threads, its bits in $alone
  start alone "$advgp" "${run[@]}" "${plain[@]}" --optimizer prox -o alone.model --log alone.log "$@"
  ends alone "$pid" 0 || return 1
  alone=$(bits alone.log)
}
lead() { start lead "$advgp" "${run[@]}" "${plain[@]}" "${over[@]}" "${prox[@]}" "$@"; lead=$pid; }
serve() { start "serve$1" "$advgp" work --rendezvous rv --serve 127.0.0.1; eval "s$1=$pid"; }
work() { start "work$1" "$advgp" work --rendezvous rv; eval "w$1=$pid"; }
same_bits() { [[ -n $alone && $(bits log) == "$alone" ]] || tell "$1: bits $(bits log), by threads $alone"; }
nobody_lost() { says_not lead.err 'is lost'; says_not serve1.err 'is lost'; says_not serve2.err 'is lost'; }
as_good() { close_to 'RMSE on the test' "$(number lead.out rmse)" "$(number alone.out rmse)" 0.01; }

case_two_servers() {
  local plain=()
  alone --workers 2 --max-delay 0 || return
  lead --workers 2 --max-delay 0 --servers 2
  serve 1; serve 2; work 1; work 2
  ends lead "$lead" 0 && same_bits 'two servers'
  nobody_lost
  for k in 1 2; do local s=s$k w=w$k; ends "serve$k" "${!s}" 0; ends "work$k" "${!w}" 0; done
}
case_tasks() { # one command for all tasks: the lead, three servers, a worker; encrypted, since it does not stay on this machine
  alone --workers 1 --max-delay 0 || return
  local r
  for r in 0 1 2 3 4; do
    start "task$r" env SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=5 "$advgp" "${run[@]}" "${plain[@]}" "${prox[@]}" \
      --transport zmq --max-delay 0 --servers 3
    eval "t$r=$pid"
  done
  for r in 0 1 2 3 4; do local t=t$r; ends "task$r" "${!t}" 0; done
  same_bits 'three servers'
  says task1.err 'server process'
  says task4.err 'worker process'
}
case_mpi() {
  (( with_mpi )) || { echo 'left out: no mpirun of Open MPI'; return; }
  alone --workers 2 --max-delay 0 || return
  start mpi "${mpirun[@]}" -n 5 "$advgp" "${run[@]}" "${plain[@]}" "${prox[@]}" --transport mpi --max-delay 0 --servers 2
  ends mpi "$pid" 0 && same_bits 'two servers over MPI'
}
case_lost_server() {
  alone --workers 2 --max-delay 0 || return
  lead --workers 2 --max-delay 0 --servers 2 --delay-worker 0:0.02 --lost-after 2
  serve 1; serve 2; work 1; work 2
  await log '"event":"eval"' 3 || return
  killed "$s1"
  await lead.err 'without a word: the versions since' || return
  serve 3
  ends lead "$lead" 0 && same_bits 'a server lost' # what it had made since the last evaluation was made again
  ends serve2 "$s2" 0; ends serve3 "$s3" 0
}
# The same beyond this machine, so with keys that the rendezvous file carries.
far_lead() { lead --workers 1 --max-delay 0 --servers 2 --delay-worker 0:0.02 --lost-after 2 --listen 0.0.0.0:0 "$@"; }
far_serve() { start "serve$1" "$advgp" work --rendezvous rv --serve 0.0.0.0:0; eval "s$1=$pid"; }
case_lead_again() { # the servers have outlived the lead, and know its workers' key; the worker is a new one
  far_lead --checkpoint state --checkpoint-every 1
  far_serve 1; far_serve 2; work 1
  await log '"event":"checkpoint"' || return
  killed "$lead" "$w1"
  far_lead --resume state
  work 2
  ends lead "$lead" 0
  ends work2 "$w2" 0
  ends serve1 "$s1" 0; ends serve2 "$s2" 0
}
case_file_away() { # for a moment, just when the worker hears of servers
  far_lead
  await lead.err 'lead at' || return
  work 1
  await work1.err 'waiting for the lead, which lives' || return
  signal STOP "$w1"
  far_serve 1; far_serve 2
  await serve1.err 'waiting for workers' && await serve2.err 'waiting for workers' || return
  mv rv away
  signal CONT "$w1"
  sleep 3
  mv away rv
  ends lead "$lead" 0; ends work1 "$w1" 0
}
case_lost_worker() {
  alone --workers 2 --max-delay 0 || return
  lead --workers 2 --max-delay 0 --servers 2 --delay-worker 0:0.02 --lost-after 2
  serve 1; serve 2; work 1; work 2
  await log '"event":"eval"' 3 || return
  killed "$w2"
  ends lead "$lead" 0 && as_good
  ends work1 "$w1" 0
}
case_lost_unnoticed() { # a worker dies and the interval ends before it is lost: the next one does not wait for it
  lead --workers 2 --servers 2 --delay-worker 0:0.3,1:0.3 --lost-after 20 --wait 100
  serve 1; serve 2; work 1; work 2
  await log '"event":"eval"' 2 || return
  sleep 0.9 # of an interval's two seconds: both have pushed
  killed "$w2"
  until_true counted log '"event":"eval"' 6 || tell "it waits: $(tail -n 3 serve1.err)"
}
case_stop_on_loss() { # the servers see it, now or when the next interval begins, the lead says it, and can be resumed
  lead --workers 2 --servers 2 --delay-worker 0:0.02 --on-loss stop --wait 100 --lost-after 3
  serve 1; serve 2; work 1; work 2
  await log '"event":"eval"' 3 || return
  signal TERM "$w2"
  ends lead "$lead" 6
  says lead.err 'server ' '--on-loss is stop' '--resume model.checkpoint'
  says_not lead.err 'without a word'
}
case_quiet() { # an interval of more than the minute for which a lead remembers: its workers still hear that a server is lost
  lead --workers 2 --servers 2 --delay-worker 0:20,1:20 --lost-after 3 --wait 45
  serve 1; serve 2; work 1; work 2
  await work2.err 'is worker' || return
  sleep 80
  killed "$s1"
  await lead.err 'without a word: the versions since' || return
  serve 3
  sleep 60
  gone "$lead" && tell "the lead: $(tail -n 3 lead.err)"
  says_not serve3.err 'workers have come in' 'of 2 workers are here after'
}
case_no_server() {
  lead --workers 1 --servers 2 --wait 6
  serve 1; work 1
  ends lead "$lead" 6
  says lead.err 'waiting for servers: ' '1 of 2 servers are here'
  ends serve1 "$s1" 6; ends work1 "$w1" 6
}
case_refused() {
  start lead "$advgp" "${run[@]}" "${over[@]}" --servers 2
  ends lead "$pid" 2 || return
  says lead.err '--servers 2' '--optimizer prox'
  lead --map nystrom --servers 2 --workers 1
  serve 1; serve 2; work 1
  ends lead "$lead" 2
  says lead.err '--map cholesky'
}

long=()
[[ -n ${ADVGP_LONG-} || " ${wanted[*]-} " == *' quiet '* ]] && long=(quiet)
at_once=${ADVGP_AT_ONCE-6}
cases two_servers tasks mpi lost_server lead_again file_away lost_worker lost_unnoticed stop_on_loss no_server refused ${long[@]+"${long[@]}"}
end_report
