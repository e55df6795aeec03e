#!/usr/bin/env bash
# advgp compare as its users run it: one table, one log, the same rows for every method; names that are none are refused before any
# data is read.
#   compare.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

y=(--target y)
plain=(--noise constant) # noise of each row is most of a small training, and the first table has it
table 1500 >in/good.csv
table 400 7 >in/test.csv
table 5600 >in/many.csv
head -n 1 in/good.csv >in/empty.csv

good 'a table' 'held-out rows' 'advgp ' 'svigp ' 'linear ' 'mean ' -- \
  compare in/good.csv "${y[@]}" --methods advgp,svigp,linear,mean -m 10 --epochs 5
good 'packed rows' -- pack in/good.csv "${y[@]}" -o in/packed
good 'packed rows' 'linear ' 'mean ' -- compare in/packed --methods linear,mean
good 'a test file' ' rows of --test' -- compare in/good.csv "${y[@]}" --test in/test.csv --methods linear,mean
good 'a grid' -- compare in/good.csv "${y[@]}" "${plain[@]}" --methods advgp-natural,advgp-prox,distgp-gd,distgp-lbfgs,linear --inducing 5,10 \
  --epochs 4 --json --log in/log
rows=$(grep -o '"method"' said.out | wc -l)
[[ $rows == 9 ]] || tell "a grid: $rows rows in the table, not 9: linear is the same for every m"
for key in cpu_seconds wall_seconds neg_elbo rmse rmse_se mnlp coverage_90 coverage_90_se stopped; do
  grep -q "\"$key\"" said.out || tell "a grid: --json lacks $key"
done
[[ $(head -n 1 in/log) == *'"compare"'* ]] || tell "a grid: no manifest in the log"
[[ $(grep -c '"event":"done"' in/log) == 9 ]] || tell "a grid: $(grep -c '"event":"done"' in/log) runs done in the log, not 9"
grep '"event":"eval".*"method":"distgp-gd"' in/log >/dev/null || tell "a grid: eval lines do not name their method"
good 'the same again' -- compare in/good.csv "${y[@]}" --methods advgp -m 8 --epochs 4 --json
one=$(grep -o '"rmse": *[0-9.e+-]*' said.out)
good 'the same again' -- compare in/good.csv "${y[@]}" --methods advgp -m 8 --epochs 4 --json
[[ $one == "$(grep -o '"rmse": *[0-9.e+-]*' said.out)" ]] || tell "the same again: another RMSE"
good 'a budget of CPU time' -- compare in/good.csv "${y[@]}" "${plain[@]}" --methods advgp,svigp,distgp-lbfgs -m 8 --cpu-time 0.5 --json
good 'the delay is tuned' 'delay 40 gives a held-out RMSE' -- \
  compare in/good.csv "${y[@]}" "${plain[@]}" --methods advgp --tune-delay --workers 2 -m 8 --epochs 3 --validation 0.2
good 'a method that cannot is a line of the table' 'exact cannot do this' 'linear ' -- compare in/many.csv "${y[@]}" --methods exact,linear

# figures on held-out rows, or not
head -n 31 in/good.csv >in/few.csv
good 'none held out' ' training rows, each left out in turn; ± is a standard error' ' RMSE      ± ' -- \
  compare in/few.csv "${y[@]}" --methods advgp,mean -m 3 --epochs 3 --validation 0
grep -qi 'nan' said.err && tell "none held out: $(grep -i nan said.err)"
bad 'a delay tuned without them' 3 '--tune-delay' '--validation' -- \
  compare in/good.csv "${y[@]}" --methods advgp --tune-delay --validation 0 --log out/log

# what was done, not what was asked
awk -v OFS=, 'BEGIN { print "x1,y"; for (i = 0; i < 300; i++) print i % 6, i % 6 + i % 2 }' >in/repeated.csv
good 'few distinct rows' 'inducing points reduced from 20 to 6' -- \
  compare in/repeated.csv "${y[@]}" "${plain[@]}" --methods advgp,svigp,distgp-gd,mean -m 20 --epochs 3 --max-delay 8
[[ $(grep -c 'inducing points reduced' said.err) == 1 ]] || tell "few distinct rows: not said once: $(cat said.err)"
[[ $(awk '$1 ~ /^(advgp|svigp|distgp-gd|mean)$/ { print $1, $2, $3 }' said.out) == $'advgp 6 8\nsvigp 6 -\ndistgp-gd 6 -\nmean - -' ]] ||
  tell "few distinct rows: m and delay in: $(cat said.out)"
awk -v OFS=, 'BEGIN { print "x1,x2,y"; for (i = 0; i < 300; i++) print i % 13, 2 * (i % 13), i % 7 }' >in/dependent.csv
good 'the notes of a method' 'note: 1 of 3 coefficients' -- compare in/dependent.csv "${y[@]}" --methods linear,linear
[[ $(grep -c 'coefficients' said.err) == 1 ]] || tell "the notes of a method: not said once: $(cat said.err)"

# the same start as train's, and the same lines in the log
same=("${y[@]}" -m 12 --start greedy --epochs 4)
good 'as train' -- train in/good.csv "${same[@]}" --json --log in/train.log -o out/m
one=$(grep -o '"rmse": *[0-9.e+-]*' said.out)
good 'as train' -- compare in/good.csv "${same[@]}" --methods advgp --json --log in/log
[[ $one == "$(grep -o '"rmse": *[0-9.e+-]*' said.out)" ]] || tell "as train: RMSE $(cat said.out), of train $one"
fields() { grep -m 1 '"event":"eval"' "$1" | perl -MJSON::PP -ne 'print join " ", grep { !/^(method|inducing)$/ } sort keys %{decode_json($_)}'; }
[[ $(fields in/log) == "$(fields in/train.log)" ]] || tell "as train: eval has $(fields in/log), of train $(fields in/train.log)"
rm out/m

# a log that cannot be written to its end
n_cases=$((n_cases + 1))
(trap '' XFSZ; ulimit -f 4; exec "$advgp" compare in/good.csv "${y[@]}" --methods advgp -m 8 --epochs 40 --patience inf --log out/log >said.out 2>said.err)
code=$?
[[ $code == 1 && $(tail -n 1 said.err) == *out/log* && -s said.out ]] || tell "a full disk: exit $code, $(tail -n 1 said.err)"
rm -f out/log

# no method could
n_cases=$((n_cases + 1))
"$advgp" compare in/many.csv "${y[@]}" --methods exact >said.out 2>said.err
code=$?
[[ $code == 3 && $(tail -n 1 said.err) == *'no method could do this'*exact* ]] || tell "no method could: exit $code, $(tail -n 1 said.err)"
grep -q 'exact  *cannot do this: .*rows' said.out || tell "no method could: no reason in the table: $(cat said.out)"
grep -q EDATA said.out said.err && tell "no method could: the name of a status is shown"

# interrupted: what was finished is there, what was not is not
interrupt() { # NAME ARGUMENTS: SIGINT once the user is told that advgp runs
  local name=$1 pid code
  shift
  n_cases=$((n_cases + 1))
  : >said.err # what the case before was told is not this one's
  "$advgp" compare in/many.csv "${y[@]}" --methods mean,advgp,linear -m 30 --epochs 100000 --patience inf "$@" >said.out 2>said.err &
  pid=$!
  until_found '^advgp: advgp' said.err $pid
  sleep 0.5
  kill -INT $pid
  wait $pid
  code=$?
  [[ $code == 130 ]] || tell "$name: exit $code: $(tail -n 2 said.err)"
  [[ $(tail -n 1 said.err) == *'interrupted during advgp, m = 30'* ]] || tell "$name: $(tail -n 1 said.err)"
  grep -q mean said.out || tell "$name: what was finished is not in the table: $(cat said.out)"
  grep -q 'advgp\|linear' said.out && tell "$name: what was not finished is in the table: $(cat said.out)"
}
set -m # a job of its own: one in the background of a script ignores SIGINT
interrupt 'interrupted' --log in/log
grep -q '"event":"done".*"advgp"' in/log && tell "interrupted: the log says it is done"
interrupt 'interrupted, JSON' --json
interrupt 'interrupted while the delay is tuned' --tune-delay
interrupt 'interrupted within a budget' --cpu-time 1000 --tune-delay
set +m

good 'defaults of lists' 'default 200' 'advgp,svigp,distgp-lbfgs,linear,mean' -- compare --help

cp in/good.csv in/test.csv out/
bad 'a log over an input'      2 '--log' 'overwrite' -- compare out/good.csv "${y[@]}" --methods mean --log out/good.csv
bad 'a log over the test'      2 '--log' 'overwrite' -- compare in/good.csv "${y[@]}" --methods mean --test out/test.csv --log out/test.csv
bad 'a log over held-out rows' 2 '--log' 'overwrite' -- compare in/good.csv "${y[@]}" --methods mean --validation out/test.csv --log out/test.csv
bad 'a log without a folder'   1 'none/log' -- compare in/good.csv "${y[@]}" --methods mean --log none/log
bad 'no such method, before'   2 '--methods' -- compare in/none.csv "${y[@]}" --methods forest --log out/log

bad 'no such method'      2 '--methods' "'forest'" 'distgp-gd' -- compare in/good.csv "${y[@]}" --methods advgp,forest
bad 'no number'           2 '--inducing' -- compare in/good.csv "${y[@]}" --inducing 5,many
bad 'no target'           2 '--target' -- compare in/good.csv
bad 'no such column'      3 "'z'" -- compare in/good.csv --target z
bad 'no rows'             3 'empty.csv' -- compare in/empty.csv "${y[@]}"
bad 'no such file'        3 'none.csv' -- compare in/none.csv "${y[@]}"
bad 'an option of train'  2 '--output' -- compare in/good.csv "${y[@]}" --output x
bad 'a test that is none' 3 '--test' -- compare in/good.csv "${y[@]}" --test in/none.csv

end_report 34
