#!/usr/bin/env bash
# `advgp replay` recomputes an asynchronous run from its log, on one core, to the same bits; a log that cannot be replayed
# is refused with the right exit code and reason.
#   replay.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
table 12000 5 >in/rows.csv
# One row far out: the bound jumps when it is seen, and the step is taken back.
awk -F, -v OFS=, 'NR == 101 { $3 = 90000 } { print }' in/rows.csv >in/wild.csv

logged() { # NAME EXIT ARGUMENTS: trains with a log
  local name=$1 want=$2
  shift 2
  rm -f out/log out/m out/again
  timeout -k 5 120 "$advgp" train "$@" -q -m 20 --components 1 --target y -o out/m --log out/log >said.out 2>said.err
  local code=$?
  [[ $code == "$want" ]] || tell "$name: the run: exit $code, expected $want: $(tail -n 3 said.err)"
}
again() { # NAME: the log out/log gives the same model
  n_cases=$((n_cases + 1))
  timeout -k 5 240 "$advgp" replay out/log -o out/again >said.out 2>said.err || tell "$1: replay: exit $?: $(tail -n 3 said.err)"
  grep -q 'the same model, bit for bit' said.err || tell "$1: not told that it is the same"
  [[ -s out/again ]] || tell "$1: no model"
}
has() { grep -q "$2" out/log || tell "$1: no $2 in the log"; }

team=(--workers 4 --max-delay 8 --batch 400 --delay-worker 2:0.002)
for optimizer in natural prox; do
  logged "$optimizer" 0 in/rows.csv "${team[@]}" --optimizer $optimizer --epochs 5
  has "$optimizer" '"event":"push"'
  again "$optimizer, 4 workers, delay 8"
  logged "$optimizer, filter" 0 in/rows.csv "${team[@]}" --optimizer $optimizer --epochs 5 --filter 0.01
  has "$optimizer, filter" '"filtered":true'
  again "$optimizer, filter"
done
logged 'no bound on delay' 0 in/rows.csv --workers 4 --max-delay inf --batch 400 --delay-worker 1:0.02 --epochs 5
again 'no bound on delay'
logged patience 0 in/rows.csv "${team[@]}" --patience 1 --epochs 200
has patience '"stopped":"no gain on held-out rows"'
again patience
logged time 0 in/rows.csv "${team[@]}" --time 1 --epochs 100000 --patience inf
has time '"stopped":"time is up"'
again time
logged 'one worker' 0 in/rows.csv --workers 1 --epochs 4
again 'one worker'
logged 'fewer workers than asked for' 0 in/rows.csv --workers 64 --max-delay 3 --delay-worker 63:1 --epochs 4
again 'fewer workers than asked for'
table 700 6 >in/small.csv
logged 'a small table, ended by L-BFGS' 0 in/small.csv
again 'a small table, ended by L-BFGS'
logged 'roll-back' 0 in/wild.csv "${team[@]}" --epochs 4 --patience inf
has 'roll-back' '"rolled_back"'
again 'roll-back'

interrupted() { # NAME LINES ARGUMENTS: once the log has that many
  local name=$1 lines=$2
  shift 2
  rm -f out/log out/m out/again
  "$advgp" train "$@" -q -m 20 --components 1 --target y --epochs 100000 --patience inf -o out/m --log out/log >said.out 2>said.err &
  local pid=$!
  for ((i = 0; i < 3000; i++)); do
    [[ -e out/log ]] && (( $(wc -l <out/log) >= lines )) && break
    sleep 0.02
  done
  kill -INT $pid
  wait $pid
  [[ $? == 130 ]] || tell "$name: exit $?, expected 130: $(cat said.err)"
  has "$name" '"stopped":"interrupted"'
  again "$name"
}
interrupted 'interrupted early' 2 in/rows.csv "${team[@]}"
interrupted 'interrupted' 3000 in/rows.csv "${team[@]}" --optimizer prox
interrupted 'interrupted while the judge is slow' 500 in/rows.csv "${team[@]}" --validation 0.5
cp out/log out/interrupted

# ---- what cannot be replayed
logged short 0 in/rows.csv "${team[@]}" --epochs 3
cp out/log in/log
rm -f out/log out/m
printf 'x,y\n1,2\n' >in/foreign.csv
sed '/"event":"done"/d' in/log >in/not_done
head -c "$(($(wc -c <in/log) / 2))" in/log >in/cut
sed '/"event":"begin"/d' in/log >in/not_begun
lines=$(wc -l <in/log)
{ head -n $((lines / 2)) in/log; tail -n 1 in/log; } >in/half
sed "$((lines / 2))s/.*/this is no line of a log/" in/log >in/edited
at=$(grep -n '"event":"push"' in/log | sed -n '30{s/:.*//;p}')
sed "${at}d" in/log >in/left_out
sed "${at}s/\"version\":[0-9]*/\"version\":9999/" in/log >in/other_version
sed "${at}s/\"worker\":[0-9]*/\"worker\":77/" in/log >in/other_worker
sed "${at}s/\"worker\":[0-9]*/\"worker\":-1/" in/log >in/no_worker
sed 's/"bits":"[0-9a-f]*"/"bits":"0123456789abcdef"/' in/log >in/other_bits
sed 's/in\/rows\.csv/in\/gone.csv/' in/log >in/gone
sed 's/in\/rows\.csv/-/' in/log >in/stdin
sed '1s/"inducing":20/"inducing":"many"/' in/log >in/bad_option
bad 'no log' 1 'no-such-log' -- replay no-such-log -o out/x
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

# A resumed run goes on in the same log; steps that the first part made after its checkpoint are in it, too.
cp out/interrupted out/log
timeout -k 5 120 "$advgp" train in/rows.csv "${team[@]}" --epochs 100000 --patience inf --validation 0.5 -q -m 20 --components 1 --target y -o out/m --log out/log \
  --resume out/m.checkpoint --time 1 >said.out 2>said.err || true
[[ $(grep -c '"event":"begin"' out/log) == 2 ]] && bad 'of a resumed run' 4 'resumed' -- replay out/log -o out/x
end_report 30
