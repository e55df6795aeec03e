#!/usr/bin/env bash
# One signal ends the reading of a pipe and makes model and checkpoint of a training; a second one, or one of another
# kind, ends at once; none leaves a temporary file. Nobody who listens is no reason to lose a training.
#   signals.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
table 3000 3 >in/rows.csv
left() { find tmp out -name '*.tmp*' -o -name 'advgp-*' -o -name '*.old' -o -name '.advgp-*'; }
wait_for() { until_true eval "$1" || tell "$name: waited in vain for $1"; }
begin() { : >said.err; "$advgp" "$@" <&0 >said.out 2>said.err & pid=$!; } # a shell gives /dev/null to what runs behind it
ended() { # EXIT: the process ends with it and leaves nothing temporary
  local code
  until_true over $pid
  kill -KILL $pid 2>/dev/null && tell "$name: it did not end"
  wait $pid 2>/dev/null
  code=$?
  [[ $code == "$1" ]] || tell "$name: exit $code, not $1: $(tail -n 2 said.err)"
  [[ -z $(left) ]] || { tell "$name: left behind $(left)"; rm -rf $(left); }
  n_cases=$((n_cases + 1))
}
quick=(--target y -m 5 --components 1 --epochs=1 -q)

# ---- reading ----------------------------------------------------------------------------------------------------------
mkfifo in/pipe
for pair in INT:130 TERM:143 HUP:129; do
  name="a pipe that gives nothing, ${pair%:*}"
  exec 9<>in/pipe
  begin train - "${quick[@]:0:7}" -o out/m <in/pipe
  wait_for "grep -q '^advgp: reading' said.err"; kill -"${pair%:*}" $pid; ended "${pair#*:}"
  grep -q 'stopped while reading standard input' said.err || tell "$name: $(cat said.err)"
  exec 9>&-
  name="a named pipe without a writer, ${pair%:*}"
  begin train in/pipe "${quick[@]:0:7}" -o out/m
  wait_for "grep -q '^advgp: reading' said.err"; kill -"${pair%:*}" $pid; ended "${pair#*:}"
done
name='an endless source'
begin train - "${quick[@]}" --spool-limit 0.02 -o out/m < <(echo x1,x2,y; yes 1,2,3)
ended 3
grep -q 'standard input gives more than 0.02 GB.*--spool-limit' said.err || tell "$name: $(cat said.err)"
name='a pipe by its name'
begin train <(cat in/rows.csv) "${quick[@]}" -o out/m
ended 0
rm -f out/m

# ---- training ---------------------------------------------------------------------------------------------------------
# Versions that cost a nap each, not CPU.
long=(--target y -m 20 --components 1 --batch 500 --patience inf -q --checkpoint-every 1 --workers 1 --delay-worker 0:0.05)
for pair in HUP:129 TERM:143; do
  name="a training, ${pair%:*}"
  begin train in/rows.csv "${long[@]}" --epochs 100000 -o out/m --checkpoint out/c
  wait_for '[[ -s out/c ]]'
  kill -"${pair%:*}" $pid; ended "${pair#*:}"
  [[ -s out/m && -s out/c ]] && grep -q -- '--resume out/c' said.err || tell "$name: no model or checkpoint: $(cat said.err)"
  rm -f out/m out/c
done
# Steps of 1,800 features take seconds each, and are not waited for.
name='a wide table'
awk 'BEGIN { srand(3); for (i = 0; i <= 200; i++) { printf i ? rand() : "y"; for (k = 1; k <= 1750; k++) printf i ? ",%.2f" : ",x%d", i ? rand() : k; print "" } }' >in/wide.csv
begin train in/wide.csv --target y -m 5 --components 1 --patience inf --epochs 100000 --workers 1 -o out/m --checkpoint out/c
wait_for "grep -q '^advgp: training' said.err"
sleep 0.5
kill -TERM $pid
wait $pid
code=$?
[[ $code == 143 && -s out/m && -s out/c ]] && grep -q -- '--resume out/c' said.err || tell "$name: exit $code, no model or no checkpoint: $(cat said.err)"
n_cases=$((n_cases + 1))
rm -f out/m out/c in/wide.csv
name='a checkpoint without a folder, and --quiet'
mkdir out/gone
begin train in/rows.csv "${long[@]}" --epochs 100000 -o out/m --checkpoint out/gone/c
wait_for '[[ -s out/gone/c ]]'
rm -rf out/gone
wait_for "grep -q 'the state could not be saved, training goes on: .*out/gone/c' said.err"
kill -INT $pid; ended 130
grep -q 'the state to go on from is lost' said.err || tell "$name: $(cat said.err)"
rm -f out/m
name='a hang-up that nohup ignores'
(trap '' HUP; exec "$advgp" train in/rows.csv "${long[@]}" --epochs 6 -o out/m >said.out 2>said.err) & pid=$!
sleep 1; kill -HUP $pid; ended 0
rm -f out/m

# ---- ending at once ---------------------------------------------------------------------------------------------------
awk 'NR == 1 { print; next } { row[NR] = $0 } END { for (i = 0; i < 100; i++) for (k in row) print row[k] }' in/rows.csv >in/many.csv
"$advgp" train in/rows.csv --target y -m 200 --components 1 --epochs 1 -q -o in/m >/dev/null 2>&1 || tell 'a model to predict with'
signals='XCPU:152 USR1:138 ALRM:142 ABRT:134'
libraries=$(ldd "$advgp") # not by a pipe: grep -q ends at once, and then ldd may fail
grep -q 'lib[atu].*san' <<<"$libraries" || signals+=' SEGV:139' # which a sanitizer takes for itself
for signal in $signals; do
  name="a signal that is not expected, ${signal%:*}"
  begin predict in/m in/many.csv -o out/p.csv
  wait_for "[[ -n \$(left) ]]"
  (ulimit -c 0; kill -"${signal%:*}" $pid); ended "${signal#*:}"
done
name='a second signal while packing'
begin pack in/many.csv --target y -q -o out/packed
wait_for "[[ -n \$(left) ]]"
kill -STOP $pid; kill -INT $pid; kill -TERM $pid; kill -CONT $pid # both before it can look
ended 130
[[ ! -e out/packed ]] || tell "$name: a packed folder"

# ---- nobody listens ---------------------------------------------------------------------------------------------------
name='a training whose listener has gone'
"$advgp" train in/rows.csv --target y -m 5 --components 1 --epochs 20 -o out/m --log out/log 2>&1 | true
[[ -s out/m && ! -e out/m.checkpoint ]] && grep -q '"event":"done"' out/log || tell "$name: no model, or no end in the log"
rm -f out/m out/log; n_cases=$((n_cases + 1))
name='standard output and error closed'
"$advgp" train in/rows.csv --target y -m 5 --components 1 --epochs 20 -o out/m >&- 2>&-
[[ $? == 1 ]] && "$advgp" inspect out/m >/dev/null || tell "$name: no good model"
rm -f out/m; n_cases=$((n_cases + 1))
name='head has seen enough'
"$advgp" predict in/m in/many.csv 2>said.err | head -n 2 >said.out
codes=("${PIPESTATUS[@]}")
[[ ${codes[0]} == 141 && ! -s said.err && $(wc -l <said.out) == 2 ]] || tell "$name: ${codes[*]}: $(cat said.err)"
n_cases=$((n_cases + 1))
end_report 21
