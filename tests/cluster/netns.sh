#!/usr/bin/env bash
# A training over three hosts, each with a network of its own: a cable is cut for longer than a lost worker is waited for, and
# a worker's place is taken from another host while its old connection is half open.
#   netns.sh ADVGP       exit 77: network namespaces are not permitted here
# shellcheck source=lab.sh
source "$(dirname "$0")/lab.sh"
hosts_up 3

table 6000 1 >rows.csv
table 2000 2 >test.csv
"$advgp" pack rows.csv --target y -q -o rows.packed >/dev/null || exit 1
run=(train rows.packed --test test.csv -m 20 --components 1 --batch 500 --epochs 30 --patience inf --delay-worker "0:0.03,1:0.03")
"$advgp" "${run[@]}" --workers 2 --max-delay 200 -q -o alone --log alone.log >alone.out 2>&1 || { tell "undisturbed: $(cat alone.out)"; end_report 1; }
steps=$(version alone.log)
echo "undisturbed: $steps versions in $SECONDS s, RMSE $(rmse alone.log)"

lead() { # NAME: on host 1
  on 1 "${bounded[@]}" "$advgp" "${run[@]}" --transport zmq --workers 2 --listen "$(address 1)" --rendezvous "$1.run" \
    --heartbeat 0.5 --lost-after 6 --wait 120 -o "$1" --log "$1.log" >"$1.out" 2>&1 &
  lead=$!
}
worker() { # HOST NAME ID SAYS
  on "$1" "${bounded[@]}" "$advgp" work --rendezvous "$2.run" --id "$3" --wait 120 >"$4" 2>&1 &
  worker=$!
}

# ---- cut off, lost, mended
lead cut
worker 2 cut 0 cut-0.out; first=$worker
worker 3 cut 1 cut-1.out; second=$worker
await_word cut.out 'lead at tcp://10\.213\.47\.1:[0-9]+ \(encrypted\)' 'cut'
[[ $(stat -c %a cut.run) == 600 ]] || tell "cut: the rendezvous file is open to others: $(stat -c %a cut.run)"
await at_version cut.log $((steps / 4)) || tell "cut: no version $((steps / 4)): $(tail -n 5 cut.out)"
cut_off 3
await_word cut.out 'worker 1 .* is lost .*its shards go to the others' 'cut'
lost_at=$(version cut.log)
await at_version cut.log $((lost_at + 10)) || tell "cut: it does not go on without the lost one: $(tail -n 3 cut.out)"
mend 3
await_word cut-1.out 'is worker 1 from now on, its incarnation 2' 'cut'
says cut.out 'worker 1 \([a-zA-Z0-9.-]+:[0-9]+\) has joined' || tell "cut: it came back without its name: $(grep joined cut.out)"
await_end $lead 0 'cut: the lead' cut.out
await_end $first 0 'cut: worker 0' cut-0.out
await_end $second 0 'cut: worker 1' cut-1.out
as_good 'cut' cut.log alone.log
says cut.out '1 worker lost, 3 joined in all' || tell "cut: the account does not speak of the loss: $(tail -n 2 cut.out)"
[[ ! -e cut.run ]] || tell 'cut: the rendezvous file is still there'
passed "host 3 cut off and mended: $(tail -n 1 cut.out)"

# ---- the same worker from another host, while the old connection is half open
lead taken
worker 2 taken 0 taken-0.out; first=$worker
worker 3 taken 1 taken-1.out; second=$worker
await at_version taken.log $((steps / 4)) || tell "taken: no version $((steps / 4)): $(tail -n 5 taken.out)"
cut_off 3
worker 2 taken 1 taken-new.out; third=$worker
await_word taken-new.out 'is worker 1 from now on, its incarnation 2' 'taken'
mend 3
await_end $second 6 'taken: the old worker 1' taken-1.out
says taken-1.out "another worker has taken this one's place" || tell "taken: the old one was not told why: $(tail -n 2 taken-1.out)"
await_end $lead 0 'taken: the lead' taken.out
await_end $first 0 'taken: worker 0' taken-0.out
await_end $third 0 'taken: the new worker 1' taken-new.out
as_good 'taken' taken.log alone.log
says taken-new.out '[1-9][0-9]* pushes in [1-9]' || tell "taken: the new one did not work: $(tail -n 1 taken-new.out)"
passed "worker 1 from another host: $(tail -n 1 taken-new.out)"

# ---- who has no key
lead closed
await test -s closed.run || tell "closed: no rendezvous file: $(tail -n 3 closed.out)"
endpoint=$(sed -nE 's/.*"endpoint": "tcp:\/\/([^"]+)".*/\1/p' closed.run)
on 3 "${bounded[@]}" "$advgp" work --server "$endpoint" >stranger.out 2>&1
(( $? == 2 )) && says stranger.out 'this worker needs keys' || tell "closed: a worker without keys: $(cat stranger.out)"
"$advgp" keygen other >/dev/null
on 3 "${bounded[@]}" "$advgp" work --server "$endpoint" --keys other >stranger.out 2>&1
code=$?
(( code == 6 )) || tell "closed: a worker with other keys: exit $code: $(cat stranger.out)"
worker 2 closed 0 closed-0.out; first=$worker
worker 3 closed 1 closed-1.out; second=$worker
await_end $lead 0 'closed: the lead' closed.out
await_end $first 0 'closed: worker 0' closed-0.out
await_end $second 0 'closed: worker 1' closed-1.out
as_good 'closed' closed.log alone.log
passed "strangers are refused, the run goes on: $(tail -n 1 stranger.out)"

end_report 3
