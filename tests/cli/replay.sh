#!/usr/bin/env bash
# `advgp replay` recomputes an asynchronous run from its log, on one core, to the same bits; a log that cannot be replayed
# is refused with the right exit code and reason.
#   replay.sh ADVGP      one round of interruptions; 5 with ADVGP_LONG=1, and longer runs
logs=$(cd "$(dirname "$0")/../logs" && pwd)
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
rounds=1 rows=5000 epochs=2
[[ -n ${ADVGP_LONG-} ]] && rounds=5 rows=12000 epochs=5
table $rows 5 >in/rows.csv
table 700 6 >in/small.csv
# One row far out: the bound jumps when it is seen, and the step is taken back.
table 12000 5 | awk -F, -v OFS=, 'NR == 101 { $3 = 90000 } { print }' >in/wild.csv

# Two cases are noisy, which fits the noise of each row; wild rows are enough for cells.
noisy=(-q -m 10 --components 1 --target y)
shape=("${noisy[@]}" --noise constant)
logged() { # NAME EXIT ARGUMENTS: trains with a log
  local name=$1 want=$2
  shift 2
  rm -f out/log out/m out/again
  "${bounded[@]}" "$advgp" train "$@" -o out/m --log out/log >said.out 2>said.err
  local code=$?
  [[ $code == "$want" ]] || tell "$name: the run: exit $code, expected $want: $(tail -n 3 said.err)"
}
again() { # NAME: the log out/log gives the same model
  n_cases=$((n_cases + 1))
  "${bounded[@]}" "$advgp" replay out/log -o out/again >said.out 2>said.err || tell "$1: replay: exit $?: $(tail -n 3 said.err)"
  grep -q 'the same model, bit for bit' said.err || tell "$1: not told that it is the same"
  [[ -s out/again ]] || tell "$1: no model"
}
logged_or_over() { [[ -e out/log ]] && (( $(grep -c "$1" out/log) >= $2 )) || over "$3"; } # PATTERN LINES PID
has() { grep -q "$2" out/log || tell "$1: no $2 in the log"; }

team=("${shape[@]}" --workers 4 --max-delay 8 --batch 400 --delay-worker 2:0.001)
for optimizer in natural prox; do
  logged "$optimizer" 0 in/rows.csv "${team[@]}" --optimizer $optimizer --epochs $epochs
  has "$optimizer" '"event":"push"'
  again "$optimizer, 4 workers, delay 8"
  logged "$optimizer, filter" 0 in/rows.csv "${team[@]}" --optimizer $optimizer --epochs $epochs --filter 0.01
  has "$optimizer, filter" '"filtered":true'
  again "$optimizer, filter"
done
logged 'no bound on delay' 0 in/rows.csv "${shape[@]}" --workers 4 --max-delay inf --batch 400 --delay-worker 1:0.01 --epochs $epochs
again 'no bound on delay'
logged patience 0 in/rows.csv "${team[@]}" --patience 1 --epochs 200
has patience '"stopped":"no gain on held-out rows"'
again patience
logged time 0 in/rows.csv "${team[@]}" --time 0.3 --epochs 500 --patience inf
has time '"stopped":"time is up"'
again time
logged 'one worker' 0 in/rows.csv "${noisy[@]}" --workers 1 --epochs $epochs
again 'one worker'
logged 'fewer workers than asked for' 0 in/rows.csv "${shape[@]}" --workers 64 --max-delay 3 --delay-worker 63:0.1 --epochs $epochs
again 'fewer workers than asked for'
# What nobody gave is as it was then: options that the log does not know yet, and one that had another default.
newer='outliers|warp|directions|bounds|precision'
logged 'older than options' 0 in/rows.csv "${team[@]}" --epochs 2 --outliers keep --warp none --directions none --bounds none --precision double --log-target=no
sed -i -E "1{s/\"($newer)\":\"[a-z]+\",//g; s/\"($newer|log-target)\",//g}" out/log
again 'older than options'
logged 'a small table, ended by L-BFGS' 0 in/small.csv "${noisy[@]}"
again 'a small table, ended by L-BFGS'
logged 'a small table, time is up' 0 in/small.csv "${shape[@]}" --time 0.03
has 'a small table, time is up' '"stopped":"time is up"'
again 'a small table, time is up'
good 'fewer workers: a note' 'workers reduced from 200 to' -- train in/small.csv -m 10 --components 1 --epochs 2 --target y --workers 200 --delay-worker 199:0.1 -o out/m --log out/log
again 'a delay of a worker that is not there'
logged 'wild rows' 0 in/wild.csv -q -m 20 --components 1 --target y --workers 4 --max-delay 8 --batch 400 --epochs 4 --patience inf
again 'wild rows'

# ---- other methods, other files
logged svigp 0 in/rows.csv "${shape[@]}" --method svigp --batch 500 --epochs 2
again svigp
for method in distgp-gd distgp-lbfgs; do
  logged $method 0 in/rows.csv "${shape[@]}" --method $method --workers 2 --epochs 4
  again $method
  logged "$method, time" 0 in/rows.csv "${shape[@]}" --method $method --workers 2 --time 0.02 --patience inf
  has "$method, time" '"stopped":"time is up"'
  again "$method, time"
done
for method in linear mean exact; do
  logged $method 0 in/small.csv -q --target y --method $method
  bad "$method" 4 'nothing to replay' "$method" -- replay out/log -o out/again
done
"$advgp" train in/rows.csv "${shape[@]}" --epochs 1 -o in/start >said.out 2>said.err
table 400 7 >in/held.csv
table 300 8 >in/test.csv
logged 'started from a model, with files' 0 in/rows.csv -q --target y --noise constant --workers 2 --start in/start --validation in/held.csv --test in/test.csv --epochs 1
again 'started from a model, with files'
for file in in/start in/held.csv in/test.csv; do
  cp $file in/kept
  echo '0.5,0.5,4' >>$file
  bad "$file has grown" 3 "$file is not the file it was" -- replay out/log -o out/again
  mv in/kept $file
done
"$advgp" pack in/rows.csv --target y -o in/packed >said.out 2>said.err
logged 'a packed folder' 0 in/packed -q -m 10 --components 1 --epochs 1
again 'a packed folder'
rm -rf in/packed
"$advgp" pack in/rows.csv --target y --seed 9 -o in/packed >said.out 2>said.err
bad 'packed another way' 3 'in/packed/manifest.json is not the file it was' -- replay out/log -o out/again

# ---- interrupted
interrupted() { # NAME PATTERN LINES ARGUMENTS: once the log has that many lines with the pattern
  local name=$1 pattern=$2 lines=$3 code=0 tries
  shift 3
  for ((tries = 0; tries < 10 && code == 0; tries++)); do # it may come to its end before it is interrupted
    rm -f out/log out/m out/again out/m.checkpoint
    "$advgp" train "$@" -o out/m --log out/log >said.out 2>said.err &
    local pid=$!
    until_true logged_or_over "$pattern" "$lines" $pid
    kill -INT $pid 2>/dev/null
    wait $pid
    code=$?
  done
  [[ $code == 130 ]] || tell "$name: exit $code, expected 130: $(cat said.err)"
  again "$name"
}
endless=("${team[@]}" --epochs 2000 --patience inf) # an evaluation, where --time may end, is a fortieth of it
for ((round = 0; round < rounds; round++)); do
  interrupted 'interrupted early' . 2 in/rows.csv "${endless[@]}"
  has 'interrupted early' '"stopped":"interrupted"'
  interrupted 'interrupted' . $((1000 + 400 * round)) in/rows.csv "${endless[@]}" --optimizer prox
  interrupted 'interrupted among pilots' '"command"' 1 in/rows.csv -q -m 40 --noise constant --target y --workers 4
  has 'interrupted among pilots' '"stopped":"interrupted"'
  interrupted 'interrupted, whatever the noise would be' '"advance"' 3 in/rows.csv -q -m 20 --components 1 --target y --workers 2 --epochs 2000 --patience inf
  interrupted 'interrupted in the steps of a small table' '"advance"' $((5 + round)) in/small.csv "${shape[@]}" --epochs 2000 --patience inf
  interrupted 'interrupted in the end by L-BFGS' '"collect"' $((1 + round)) in/small.csv -q -m 60 --components 1 --noise constant --target y --patience 1
  has 'interrupted in the end by L-BFGS' '"stopped":"no gain on held-out rows"\|"stopped":"the schedule ended"'
  interrupted 'interrupted in the finish' '"collect"' 1 in/rows.csv -q -m 200 --components 1 --noise constant --target y --workers 1 --epochs 1 --batch full
  interrupted 'interrupted, svigp' '"advance"' 3 in/rows.csv "${shape[@]}" --method svigp --epochs 2000 --patience inf
  interrupted 'interrupted, distgp' '"collected"' 4 in/rows.csv "${shape[@]}" --method distgp-gd --workers 2 --epochs 2000 --patience inf
  interrupted 'interrupted while the evaluator is slow' . 300 in/rows.csv "${endless[@]}" --validation 0.5
done
cp out/log out/interrupted
cp out/m.checkpoint out/again.checkpoint # of some other run
again 'a checkpoint beside the output'
cmp -s out/m.checkpoint out/again.checkpoint || tell 'a checkpoint beside the output: it was changed'

# ---- what cannot be replayed
logged short 0 in/rows.csv "${team[@]}" --epochs 2
cp out/log in/log
rm -f out/log out/m
printf 'x,y\n1,2\n' >in/foreign.csv
sed '/"event":"done"/d' in/log >in/not_done
head -c "$(($(wc -c <in/log) / 2))" in/log >in/cut
sed '/"event":"begin"/d' in/log >in/not_begun
lines=$(wc -l <in/log)
{ head -n $((lines / 2)) in/log; tail -n 1 in/log; } >in/half
sed "$((lines / 2))s/.*/this is no line of a log/" in/log >in/edited
at=$(grep -n '"event":"push"' in/log | sed -n '15{s/:.*//;p}')
sed "${at}d" in/log >in/left_out
sed "${at}s/\"version\":[0-9]*/\"version\":9999/" in/log >in/other_version
sed "${at}s/\"worker\":[0-9]*/\"worker\":77/" in/log >in/other_worker
sed "${at}s/\"worker\":[0-9]*/\"worker\":-1/" in/log >in/no_worker
sed 's/"bits":"[0-9a-f]*"/"bits":"0123456789abcdef"/' in/log >in/other_bits
sed 's/in\/rows\.csv/in\/gone.csv/' in/log >in/gone
sed 's/in\/rows\.csv/-/' in/log >in/stdin
sed '1s/"inducing":10/"inducing":"many"/' in/log >in/bad_option
sed '1s/"given":/"taken":/' in/log >in/not_given
cp in/log out/log
ln -s log out/link
bad 'onto its own log' 2 'out/log would overwrite what is read' -- replay out/log -o out/log
bad 'onto its own log, by a link' 2 'out/link would overwrite what is read' -- replay out/log -o out/link
rm -f out/link out/log
bad 'no log' 3 'no-such-log' -- replay no-such-log -o out/x
bad 'a table' 4 'in/foreign.csv:1' -- replay in/foreign.csv -o out/x
bad 'an empty file' 4 'not the log of a run' -- replay /dev/null -o out/x
bad 'a model' 4 'model.safetensors' -- replay "$(printf '\0\1' >in/model.safetensors; echo in/model.safetensors)" -o out/x
bad 'without its end' 4 'did not come to its end' -- replay in/not_done -o out/x
bad 'cut off' 4 'did not come to its end' -- replay in/cut -o out/x
bad 'without its beginning' 4 'began its steps' -- replay in/not_begun -o out/x
bad 'half of it' 4 'cannot be replayed' -- replay in/half -o out/x
bad 'a line of something else' 4 "in/edited:$((lines / 2))" -- replay in/edited -o out/x
bad 'a push left out' 4 'cannot be replayed' -- replay in/left_out -o out/x
bad 'a push of another version' 4 'cannot be replayed' 'no parameters' -- replay in/other_version -o out/x
bad 'a push of another worker' 4 'cannot be replayed' -- replay in/other_worker -o out/x
bad 'a push of no worker' 4 "no 'worker' that can be" -- replay in/no_worker -o out/x
bad 'an input that is gone' 3 'in/gone.csv' -- replay in/gone -o out/x
bad 'from standard input' 3 'standard input' -- replay in/stdin -o out/x
bad 'an option that cannot be' 2 'options in the log' -- replay in/bad_option -o out/x
bad 'options without who gave them' 4 'which options were given' -- replay in/not_given -o out/x
bad 'no operand' 2 -- replay -o out/x
n_cases=$((n_cases + 1))
"$advgp" replay in/other_bits -o out/x >said.out 2>said.err
[[ $? == 5 ]] || tell "other bits: exit $?: $(cat said.err)"
grep -q 'another model' said.err || tell "other bits: $(cat said.err)"
rm -f out/x
echo '0.5,0.5,4' >>in/rows.csv
bad 'an input that has grown' 3 'in/rows.csv is not the file it was' -- replay in/log -o out/x
sed -i '$d' in/rows.csv
good 'the log as it was' 'bit for bit' -- replay in/log -o out/x
rm -f out/x

# Ctrl-C ends a replay at once, and leaves nothing.
n_cases=$((n_cases + 1))
logged 'a longer run' 0 in/rows.csv -q --target y --components 1 --noise constant -m 60 --workers 2 --epochs 12
"$advgp" replay out/log -o out/x >said.out 2>said.err &
pid=$!
until_found training: said.err $pid
kill -INT $pid
wait $pid
[[ $? == 130 ]] || tell "an interrupted replay: exit $?: $(tail -n 2 said.err)"
grep -q 'the replay was interrupted' said.err || tell "an interrupted replay: $(tail -n 2 said.err)"
grep -q -e --resume said.err && tell "an interrupted replay: cannot be resumed: $(tail -n 2 said.err)"
[[ -e out/x || -e out/x.checkpoint ]] && tell 'an interrupted replay: left something'

# ---- resumed
# A resumed run goes on in the same log. What the part before it has after the checkpoint is void.
resumed() { # NAME EXIT ARGUMENTS: goes on from the last state in the same log
  local name=$1 want=$2
  shift 2
  rm -f out/again
  "${bounded[@]}" "$advgp" train "$@" -o out/m --log out/log --resume out/m.checkpoint >said.out 2>said.err
  local code=$?
  [[ $code == "$want" ]] || tell "$name: the rest of the run: exit $code, expected $want: $(tail -n 3 said.err)"
}
begun() { # NAME TIMES
  local n
  n=$(grep -c '"event":"begin"' out/log)
  [[ $n == "$2" ]] || tell "$1: $n beginnings in the log, expected $2"
}
whole() { # NAME TIMES: the log of a run that began that often gives the same model, by way of the same states
  begun "$1" "$2"
  again "$1"
  grep -q 'is not in the state' said.err && tell "$1: another state on the way"
  [[ -z $(find out -name '*.replay-*') ]] || tell "$1: left a checkpoint of the replay"
}
killed() { # PATTERN LINES ARGUMENTS: killed once the log has that many lines with the pattern
  local pattern=$1 lines=$2
  shift 2
  "$advgp" train "$@" -o out/m --log out/log --checkpoint-every 1 >said.out 2>said.err &
  local pid=$!
  until_true logged_or_over "$pattern" "$lines" $pid
  sleep 0.1 # steps that are lost
  kill -KILL $pid
  wait $pid 2>/dev/null
}
for ((round = 0; round < rounds; round++)); do
  for optimizer in natural prox; do
    filter=$([[ $optimizer == prox ]] && echo 0 || echo 0.01)
    name="resumed, $optimizer, filter $filter"
    args=(in/rows.csv "${endless[@]}" --optimizer $optimizer --filter $filter)
    interrupted "$name" . $((400 + 300 * round)) "${args[@]}"
    resumed "$name" 0 "${args[@]}" --time 0.2
    whole "$name" 2
  done
  args=(in/rows.csv "${endless[@]}" --filter 0.01)
  rm -f out/log out/m
  killed '"event":"checkpoint"' 1 "${args[@]}"
  which=$((round % 2)) # the second part has a state of its own, or is killed before
  killed "$([[ $which == 0 ]] && echo '"event":"checkpoint"' || echo '"event":"begin"')" 2 "${args[@]}" --resume out/m.checkpoint
  resumed 'killed twice' 0 "${args[@]}" --time 0.2
  whole 'killed twice' 3
  args=(in/rows.csv "${endless[@]}" --validation 0.5)
  interrupted 'resumed, a slow evaluator' . $((300 + 100 * round)) "${args[@]}"
  resumed 'resumed, a slow evaluator' 0 "${args[@]}" --time 0.2
  whole 'resumed, a slow evaluator' 2
  args=(in/rows.csv "${shape[@]}" --method svigp)
  interrupted 'resumed, svigp' '"advance"' 30 "${args[@]}" --epochs 2000 --patience inf
  resumed 'resumed, svigp' 0 "${args[@]}" --epochs 2000 --patience inf --time 0.1
  whole 'resumed, svigp' 2
  args=(in/rows.csv -q -m 200 --components 1 --noise constant --target y --workers 1 --epochs 1 --batch full)
  interrupted 'resumed, in the finish' '"collect"' 1 "${args[@]}"
  resumed 'resumed, in the finish' 0 "${args[@]}"
  whole 'resumed, in the finish' 2
  args=(in/small.csv -q -m 60 --components 1 --noise constant --target y --patience 1)
  interrupted 'resumed, in the end by L-BFGS' '"collect"' $((1 + round)) "${args[@]}"
  resumed 'resumed, in the end by L-BFGS' 0 "${args[@]}"
  whole 'resumed, in the end by L-BFGS' 2
done
args=(in/rows.csv -q -m 40 --noise constant --target y --workers 4 --epochs 1)
interrupted 'resumed among pilots' '"command"' 1 "${args[@]}"
resumed 'resumed among pilots' 0 "${args[@]}"
whole 'resumed among pilots' 2
# Time was up, and then someone interrupted the end: what there was had been evaluated.
args=(in/rows.csv -q -m 200 --components 1 --noise constant --target y --workers 2 --batch 4000 --epochs 1000 --patience inf)
interrupted 'resumed, late' '"collect"' 1 "${args[@]}" --time 0.5
has 'resumed, late' '"stopped":"time is up"'
resumed 'resumed, late' 0 "${args[@]}" --time 0.5
whole 'resumed, late' 2
cp out/log in/twice
sed '/"event":"checkpoint"/d' in/twice >in/not_told
bad 'resumed from nowhere' 4 'resumed' 'does not tell' -- replay in/not_told -o out/x
at=$(grep -n '"event":"begin"' in/twice | sed -n '2{s/:.*//;p}')
sed "$((at + 1)),\$d" in/twice >in/begun_again # it was resumed, and killed
bad 'resumed and not ended' 4 'did not come to its end' -- replay in/begun_again -o out/x
sed '2,400{/"event":"push"/d}' in/twice >in/left_out
bad 'resumed, pushes left out' 4 'cannot be replayed' -- replay in/left_out -o out/x
# A log that an earlier version wrote, of its own table: its form is read, every line of it, to the end. Its arithmetic may
# have changed since, then replay says so (exit 5); what it learns is still better than a straight line.
cp "$logs"/version0.* in/
(cd in && "$advgp" replay version0.jsonl -o ../out/then --json >../said.out 2>../said.err)
code=$?
n_cases=$((n_cases + 1))
[[ $code == 0 || $code == 5 ]] || tell "an earlier version's log: exit $code: $(tail -n 3 said.err)"
grep -q 'epoch 12.0 of 12.0' said.err || tell "an earlier version's log: it is not replayed to its end"
awk 'match($0, /"rmse": [0-9.e-]+/) { rmse = substr($0, RSTART + 8, RLENGTH - 8) }
     match($0, /"linear": [0-9.e-]+/) { line = substr($0, RSTART + 10, RLENGTH - 10) }
     END { exit !(rmse > 0 && rmse < 0.7 * line) }' said.out || tell "an earlier version's log: $(head -c 300 said.out)"
end_report 60
