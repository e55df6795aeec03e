#!/usr/bin/env bash
# A training over ZeroMQ with everything that can go wrong: dead, stopped, late and strange workers, a lead that dies, keys
# that do not fit, and others who talk to its port. Each run ends by itself, says what happened, and is as good as one that
# nobody disturbed.
#   zmq_faults.sh ADVGP [CASE...]      each case once; 10 times with ADVGP_LONG=1
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
has_transport zmq || skip 'built without ZeroMQ'

table 20000 1 >rows.csv
table 2000 2 >test.csv
table 2000 3 >others.csv
"$advgp" pack rows.csv --target y -o packed >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }
"$advgp" pack others.csv --target y -o other >/dev/null 2>&1 || { echo 'FAILED: pack'; exit 1; }

# A version costs a nap of every worker, so that the steps last eight seconds on any machine and hardly cost CPU; after them
# comes the finish pass, and in one case (kill_one) the rest.
lost_after=2 every=1
plain=(--noise constant --cells none)
run=(train ../packed --transport zmq --workers 3 -m 20 --components 1 --batch 600 --epochs 6 --patience inf
  --heartbeat 0.2 --delay-worker 0:0.03,1:0.03,2:0.03 --checkpoint state --test ../test.csv -o model --json --log log)
lead() { start lead "$advgp" "${run[@]}" "${plain[@]}" --lost-after "$lost_after" --checkpoint-every "$every" --rendezvous rv "$@"; lead=$pid; }
work() { start "work$1" "$advgp" work --rendezvous rv "${@:2}"; eval "w$1=$pid"; } # NUMBER ARGUMENTS
team() { for k in 1 2 3; do work $k "$@"; done; }
as_good() { close_to 'RMSE on the test' "$(number lead.out rmse)" "$(cat "$scratch/reference")" 0.01; }
ends_well() { ends lead "$lead" 0 && as_good; }
lost_and_moved() { # N: so many workers were lost, and each of their shards has moved
  (( $(n_lines log '"event":"peer_lost"') == $1 )) || tell "$(n_lines log '"event":"peer_lost"') peers lost in the log, expected $1"
  (( $(n_lines log '"event":"shard_moved"') > 64 )) || tell 'no shard moved in the log'
}
port() { sed -nE 's/.*lead at tcp:\/\/[^ ]*:([0-9]+).*/\1/p' lead.err | tail -n 1; }

case_undisturbed() {
  lead
  team
  ends lead "$lead" 0 || return
  for k in 1 2 3; do local w=w$k; ends "work$k" "${!w}" 0; says "work$k.err" "is worker"; done
  number lead.out rmse >"$scratch/reference"
  echo "RMSE $(cat "$scratch/reference"), $(number lead.out wall_seconds) s"
  [[ ! -e rv ]] || tell 'the rendezvous file is left behind'
}

# ---- workers --------------------------------------------------------------------------------------------------------

case_kill_one() { # also what comes after the steps: cells and the noise of each row
  local plain=()
  lead; team
  await_version 30 || return
  killed "$w2"
  ends_well
  lost_and_moved 1
  says lead.err 'is lost after' 'its shards go to the others'
  ends work1 "$w1" 0; ends work3 "$w3" 0
}
case_kill_two() {
  lead; team
  await_version 30 || return
  killed "$w1" "$w3"
  ends_well
  lost_and_moved 2
  ends work2 "$w2" 0
}
case_stopped() { # for longer than it is waited for; then it finds that it was given up, and comes again
  lead; team
  await_version 30 || return
  signal STOP "$w2"
  await log '"event":"peer_lost"' || return
  signal CONT "$w2"
  await work2.err 'its incarnation 2' || return
  ends_well
  lost_and_moved 1
  [[ $(number lead.out refused) =~ ^[1-9] ]] || tell 'nothing of the old incarnation was refused'
  says lead.err 'is lost after' 'has joined'
  ends work2 "$w2" 0
}
case_late() {
  lead --wait 2; work 1; work 2
  await_version 20 || return
  says lead.err '2 of 3 workers are here'
  work 3
  await lead.err 'has joined' || return
  ends_well
  ends work3 "$w3" 0
  grep -q '"event":"shard_moved".*"to":2}' log || tell 'the late one has got no shard'
  pushes 2 || tell 'the late one has pushed nothing'
}
case_all_workers() { # all are killed, new ones come
  lead; team
  await_version 30 || return
  killed "$w1" "$w2" "$w3"
  await lead.err 'waiting for workers: 0 are left' || return
  work 4; work 5
  ends_well
  lost_and_moved 3
  ends work4 "$w4" 0; ends work5 "$w5" 0
}
case_worker_term() {
  lead; team
  await_version 30 || return
  signal TERM "$w2"
  ends work2 "$w2" 143
  ends_well
  lost_and_moved 1
  says lead.err 'worker' 'has left' 'its shards go to the others'
  says_not lead.err 'is lost after'
}
case_same_id() { # a second process of the same number waits while the first one lives, and takes the place of one that stands still
  lead
  work 1 --id 0; work 2 --id 1; work 3 --id 2
  await_version 30 || return
  work 4 --id 1
  await work4.err "the place that this worker wishes for is another's, who lives: asks again" || return
  kill -STOP "$w2"
  await work4.err 'is worker 1 from now on, its incarnation 2' || return
  kill -CONT "$w2"
  ends work2 "$w2" 6
  says work2.err "another worker has taken this one's place"
  ends_well
  ends work4 "$w4" 0
}
case_same_id_again() { # of one that died the place is free at once, long before it would be lost
  local lost_after=60
  lead
  work 1 --id 0; work 2 --id 1; work 3 --id 2
  await_version 30 || return
  killed "$w2"
  work 4 --id 1
  await work4.err 'is worker 1 from now on, its incarnation 2' || return
  ends_well
  ends work4 "$w4" 0
}
case_full() { # one more than there are places for: it waits, and takes the place of one that is lost
  lead --max-workers 3; team
  await_version 20 || return
  work 4
  await work4.err 'the run has all the workers it can take: asks again' || return
  killed "$w2"
  await work4.err 'its incarnation 2' || return
  ends_well
  ends work4 "$w4" 0
}
pushes() { grep -q "\"event\":\"push\",\"worker\":$1" log; } # WORKER
case_spare() { # more workers than shards: one has nothing to do until another is lost
  "$advgp" pack ../rows.csv --target y --shards 2 -o few >/dev/null 2>&1
  run[1]=few
  lead; team
  local k w
  for k in 1 2 3; do await "work$k.err" 'is worker' || return; done # the lead begins with two: the third may come later
  await_version 20 || return
  ! pushes 2 || { tell 'the third has shards of two'; return; }
  for k in 1 2 3; do grep -q 'is worker 0 from' "work$k.err" && w=w$k; done
  killed "${!w}"
  ends_well
  pushes 2 || tell 'the spare one did not take over'
}
case_prox() { # the paper's optimizer, and a worker that dies
  lead --optimizer prox; team
  await_version 60 || return
  killed "$w2"
  ends lead "$lead" 0
  close_to 'RMSE on the test' "$(number lead.out rmse)" "$(cat "$scratch/reference")" 0.1
  lost_and_moved 1
}
case_lbfgs() { # passes over all rows, and a worker that dies in one of them
  start lead "$advgp" train ../packed --transport zmq --workers 3 --rendezvous rv --method distgp-lbfgs -m 100 --components 1 --epochs 100 \
    --noise constant --heartbeat 0.2 --lost-after 2 --test ../test.csv -o model --json --log log
  lead=$pid
  team
  await log '"event":"collected"' 3 || return
  killed "$w2"
  ends lead "$lead" 0
  close_to 'RMSE on the test' "$(number lead.out rmse)" "$(cat "$scratch/reference")" 0.03
  lost_and_moved 1
}
case_no_lead() {
  work 1 --wait 2
  ends work1 "$w1" 6
  says work1.err 'no word from a lead for 2 s'
  start work2 "$advgp" work --server 127.0.0.1:1 --wait 6
  await work2.err 'waiting for the lead'
  ends work2 "$pid" 6
  says_not work2.err '('
  start work3 "$advgp" work --server nosuch.invalid:4000 --wait 6 # a name may come to be known
  start work4 "$advgp" work --rendezvous later --wait 6
  await work3.err "gives up after 6 s (cannot find the host 'nosuch.invalid': "
  await work4.err 'gives up after 6 s (there is no file later)'
}
case_idle() { # what waiting costs: where there is no lead, and where the lead waits for others
  local ticks before=() after=() k
  ticks=$(getconf CLK_TCK)
  cpu() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
  lead --wait 60
  work 1; work 2
  await lead.err 'waiting for workers: 2 of 3 are here' || return
  mkdir other; start other "$advgp" work --rendezvous other/rv
  local who=("$w1" "$pid" "$lead")
  sleep 1
  for k in 0 1 2; do before[k]=$(cpu "${who[k]}"); done
  sleep 5
  for k in 0 1 2; do after[k]=$(cpu "${who[k]}"); done
  for k in 0 1 2; do
    awk -v t="$((after[k] - before[k]))" -v hz="$ticks" -v what="$(printf 'a worker of a waiting lead\na worker without a lead\na waiting lead' | sed -n $((k + 1))p)" \
      'BEGIN { share = 100 * t / hz / 5; printf "%s: %.1f %% of a core\n", what, share; exit share >= 3 }' || tell 'waiting costs too much'
  done
}

# ---- what a loss means ----------------------------------------------------------------------------------------------

case_loss_stops() {
  every=60
  lead --on-loss stop; team
  await_version 30 || return
  killed "$w2"
  ends lead "$lead" 6
  says lead.err 'the run stops' '--on-loss is stop' 'go on with --resume state'
  ends work1 "$w1" 6; ends work3 "$w3" 6
  says work1.err 'the lead has ended'
  lead --resume state; team
  ends_well
}
case_loss_drops() {
  lead --on-loss drop; team
  await_version 30 || return
  killed "$w2"
  ends_well
  says lead.err 'ARE LEFT OUT'
  (( $(n_lines log '"to":null}') > 0 )) || tell 'the log does not say which shards were left out'
}
finish_without() { # ARGUMENTS: a worker stops in the steps, which go on without it, but the last act needs its rows
  lost_after=6 every=60
  lead --quorum 0.5 "$@"; team
  await_version 200 || return 1
  signal STOP "$w2"
  await log '"event":"collect"' && killed "$w2"
}
case_loss_in_finish() {
  finish_without || return
  ends_well
  says lead.err 'waiting for worker' 'its shards go to the others'
}
case_loss_in_finish_stops() {
  finish_without --on-loss stop || return
  ends lead "$lead" 6
  says lead.err '--on-loss is stop' 'go on with --resume state'
  lead --quorum 0.5 --on-loss stop --resume state; team
  ends_well
}
case_few_at_start() {
  lead --min-workers 3 --wait 3
  work 1; work 2
  ends lead "$lead" 6
  says lead.err 'waiting for workers: 2 of 3 are here' '2 workers have come in 3 s, at least 3 are needed'
  ends work1 "$w1" 6; ends work2 "$w2" 6
  lead --resume state; team
  ends_well
}
case_few_later() {
  every=60
  lead --min-workers 3 --wait 3; team
  await_version 30 || return
  killed "$w2"
  ends lead "$lead" 6
  says lead.err 'waiting for workers: 2 are left, at least 3 are needed' 'go on with --resume state'
  ends work1 "$w1" 6; ends work3 "$w3" 6
  lead --min-workers 2 --resume state; team
  ends_well
}

# ---- the lead -------------------------------------------------------------------------------------------------------

lead_again() { # ARGUMENTS: killed, and started again from its checkpoint while the workers wait
  await log '"event":"checkpoint"' || return 1
  killed "$lead"
  mv lead.err lead1.err
  sleep 1
  "$@" --resume state
  ends_well || return 1
  for k in 1 2 3; do local w=w$k; ends "work$k" "${!w}" 0; done
}
case_lead_same_port() {
  local at k
  start lead "$advgp" "${run[@]}" "${plain[@]}" --lost-after "$lost_after" --checkpoint-every "$every" --listen 127.0.0.1:0; lead=$pid
  await lead.err 'lead at' || return
  at=127.0.0.1:$(port)
  for k in 1 2 3; do start "work$k" "$advgp" work --server "$at"; eval "w$k=$pid"; done
  there() { start lead "$advgp" "${run[@]}" "${plain[@]}" --lost-after "$lost_after" --checkpoint-every "$every" --listen "$at" "$@"; lead=$pid; }
  lead_again there
  says work1.err 'started again'
}
case_lead_other_port() {
  lead; team
  await lead.err 'lead at' || return
  local before
  before=$(port)
  lead_again lead
  [[ $(port) != "$before" ]] || echo 'the same port by chance'
}
case_lead_twice() { # the second time from the checkpoint that the first resumption wrote
  lead; team
  await log '"event":"checkpoint"' || return
  killed "$lead"
  lead --resume state
  await log '"event":"checkpoint"' 3 || return
  lead_again lead
}
case_lead_stopped() { # it was away for long: nobody is lost for that
  lead; team
  await_version 30 || return
  signal STOP "$lead"
  sleep 5
  signal CONT "$lead"
  ends_well
  [[ $(number lead.out workers_lost) == 0 ]] || tell "$(number lead.out workers_lost) workers were taken for lost"
  says work1.err 'waiting for the lead: no word for'
}
case_lead_term() {
  lead; team
  await log '"event":"checkpoint"' || return
  signal TERM "$lead"
  ends lead "$lead" 143
  says lead.err 'go on with --resume state'
  for k in 1 2 3; do local w=w$k; ends "work$k" "${!w}" 6; says "work$k.err" 'the lead has ended: interrupted'; done
  "$advgp" evaluate model ../test.csv --json >half.out 2>half.err || tell "the model so far: $(cat half.err)"
  lead --resume state; team
  ends_well
}

case_lead_term_waiting() { # in the middle of waiting for workers, some of which are there
  lead; work 1; work 2
  await lead.err 'waiting for workers: 2 of 3 are here' || return
  signal TERM "$lead"
  ends lead "$lead" 143
  ends work1 "$w1" 6
  lead --resume state; team
  ends_well
}
case_all_term() { # as a batch system ends a job: lead and workers at once, and soon afterwards by force
  lead; team
  await log '"event":"checkpoint"' || return
  signal TERM "$lead" "$w1" "$w2" "$w3"
  ends lead "$lead" 143
  for k in 1 2 3; do local w=w$k; ends "work$k" "${!w}" 143; done
  "$advgp" evaluate model ../test.csv --json >half.out 2>half.err || tell "the model so far: $(cat half.err)"
  lead --resume state; team
  ends_well
}

# ---- keys -----------------------------------------------------------------------------------------------------------

keys() { "$advgp" keygen "$1" >keygen.out 2>&1 || tell "keygen: $(cat keygen.out)"; }
case_curve() {
  keys k
  lead --keys k; team --keys k
  ends_well
  says lead.err '(encrypted)'
  for k in 1 2 3; do local w=w$k; ends "work$k" "${!w}" 0; done
}
stranger() { # ARGUMENTS of work: a fourth one comes in the middle and is turned away with 6; nobody else notices
  lead --keys k; team --keys k
  await_version 20 || return
  start stranger "$advgp" work --server "127.0.0.1:$(port)" "$@"
  ends stranger "$pid" 6
  ends_well
  [[ $(number lead.out workers_lost)/$(number lead.out workers_joined) == 0/3 ]] || tell 'the run was harmed'
}
case_wrong_key() { # of the lead: the worker has those of another run
  keys k; keys others
  stranger --keys others
  says stranger.err 'the key expected of it is not its own'
}
case_not_allowed() { # the lead's key is right, the worker's is on no list
  keys k; keys others
  cp k/server.pub others/server.pub
  stranger --keys others
  says stranger.err "refuses this worker's key"
}
case_plain_on_curve() {
  keys k
  stranger
  says stranger.err 'it asks for a key, and the worker has none'
}

# ---- strangers at the port ------------------------------------------------------------------------------------------

# connections HOW COUNT: to the lead's port, held for some seconds
connections() {
  start "strangers_$1" perl -MIO::Socket::INET -e '
    my ($how, $port, $n) = @ARGV; my @held;
    for my $i (1 .. $n) {
      my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port, Proto => "tcp", Timeout => 2) or next;
      $SIG{PIPE} = "IGNORE";
      if ($how eq "garbage") { $s->syswrite(join "", map { chr int rand 256 } 1 .. 5000) }
      elsif ($how eq "http") { $s->syswrite("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }
      elsif ($how eq "greeting") { $s->syswrite("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" . "\0" x 48 . "\x04\x26\x05READY" . "\xff" x 300) }
      push @held, $s;
    }
    print scalar(@held), " connections\n"; STDOUT->flush; sleep 4' "$@"
}
case_garbage() {
  lead; team
  await_version 20 || return
  local how held=()
  for how in garbage http greeting silence; do
    connections "$how" "$(port)" 20
    held+=("$pid")
  done
  ends_well
  [[ $(number lead.out workers_lost) == 0 ]] || tell 'a worker was lost'
  for how in 0 1 2 3; do ends strangers_garbage "${held[how]}" 0; done
  says strangers_silence.out '20 connections'
}
case_descriptors() { # more connections than the lead may have descriptors
  start lead bash -c 'ulimit -n 40; exec "$@"' lead "$advgp" "${run[@]}" "${plain[@]}" --lost-after "$lost_after" --checkpoint-every "$every" --rendezvous rv; lead=$pid
  team
  await_version 20 || return
  connections silence "$(port)" 100
  await_version 120 || return
  connections garbage "$(port)" 100 # and when the model is written
  ends_well
  [[ $(number lead.out workers_lost) == 0 ]] || tell 'a worker was lost'
  says strangers_silence.out connections
}

# ---- rows -----------------------------------------------------------------------------------------------------------

case_data_elsewhere() {
  cp -r ../packed copy
  lead; work 1; work 2; work 3 --data "$PWD/copy"
  ends_well
  ends work3 "$w3" 0
  pushes 2 || tell 'not all have pushed'
}
case_other_rows() {
  lead; team
  await_version 10 || return
  work 4 --data "$scratch/other"
  ends work4 "$w4" 6
  says work4.err 'other rows'
  ends_well
  [[ $(number lead.out workers_lost) == 0 ]] || tell 'the run was harmed'
}
case_damaged_rows() { # the copy of one worker is damaged; the lead tells why it goes, and the others do its part
  cp -r ../packed copy
  for shard in copy/shard-*.bin; do
    printf 'garbage!' | dd of="$shard" bs=1 seek=$(($(stat -c %s "$shard") / 2)) conv=notrunc status=none
  done
  lead; work 1; work 2; work 3 --data "$PWD/copy"
  ends work3 "$w3" 4
  says work3.err 'is damaged (checksum)'
  ends_well
  says lead.err 'fails: ' 'is damaged (checksum); pack the data again' 'has left: its shards go to the others'
  lost_and_moved 1
}

wanted_all=(${wanted[@]+"${wanted[@]}"})
wanted=() rounds_all=$rounds rounds=1
cases undisturbed
[[ -s reference ]] || end_report
wanted=(${wanted_all[@]+"${wanted_all[@]}"}) rounds=$rounds_all at_once=${ADVGP_AT_ONCE-8} # they sleep most of their time
cases kill_one kill_two stopped late all_workers worker_term same_id same_id_again full spare prox lbfgs no_lead idle loss_stops loss_drops loss_in_finish loss_in_finish_stops few_at_start few_later \
  lead_same_port lead_other_port lead_twice lead_stopped lead_term lead_term_waiting all_term curve wrong_key not_allowed plain_on_curve garbage descriptors data_elsewhere other_rows damaged_rows
end_report
