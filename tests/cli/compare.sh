#!/usr/bin/env bash
# advgp compare as its users run it: one table, one log, the same rows for every method; names that are none are refused before any
# data is read.
#   compare.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

y=(--target y)
table 1500 >in/good.csv
table 400 7 >in/test.csv
table 5600 >in/many.csv
head -n 1 in/good.csv >in/empty.csv

good 'a table' 'figures on held-out rows' 'advgp ' 'svigp ' 'linear ' 'mean ' -- \
  compare in/good.csv "${y[@]}" --methods advgp,svigp,linear,mean -m 10 --epochs 5
good 'a test file' 'figures on the rows of --test' -- compare in/good.csv "${y[@]}" --test in/test.csv --methods linear,mean
good 'a grid' -- compare in/good.csv "${y[@]}" --methods advgp-natural,advgp-prox,distgp-gd,distgp-lbfgs,linear --inducing 5,10 \
  --epochs 4 --json --log in/log
rows=$(grep -o '"method"' said.out | wc -l)
[[ $rows == 9 ]] || tell "a grid: $rows rows in the table, not 9: linear is the same for every m"
for key in cpu_seconds wall_seconds neg_elbo rmse mnlp coverage_90 stopped; do
  grep -q "\"$key\"" said.out || tell "a grid: --json lacks $key"
done
[[ $(head -n 1 in/log) == *'"compare"'* ]] || tell "a grid: no manifest in the log"
[[ $(grep -c '"event":"done"' in/log) == 9 ]] || tell "a grid: $(grep -c '"event":"done"' in/log) runs done in the log, not 9"
grep '"event":"eval".*"method":"distgp-gd"' in/log >/dev/null || tell "a grid: eval lines do not name their method"
good 'the same again' -- compare in/good.csv "${y[@]}" --methods advgp -m 8 --epochs 4 --json
one=$(grep -o '"rmse": *[0-9.e+-]*' said.out)
good 'the same again' -- compare in/good.csv "${y[@]}" --methods advgp -m 8 --epochs 4 --json
[[ $one == "$(grep -o '"rmse": *[0-9.e+-]*' said.out)" ]] || tell "the same again: another RMSE"
good 'a budget of CPU time' -- compare in/good.csv "${y[@]}" --methods advgp,svigp,distgp-lbfgs -m 8 --cpu-time 0.5 --json
good 'the delay is tuned' 'delay 40 gives a held-out RMSE' -- \
  compare in/good.csv "${y[@]}" --methods advgp --tune-delay --workers 2 -m 8 --epochs 3 --validation 0.2
good 'a method that cannot is a line of the table' 'exact cannot do this' 'linear ' -- compare in/many.csv "${y[@]}" --methods exact,linear

bad 'no such method'      2 '--methods' "'forest'" 'distgp-gd' -- compare in/good.csv "${y[@]}" --methods advgp,forest
bad 'no number'           2 '--inducing' -- compare in/good.csv "${y[@]}" --inducing 5,many
bad 'no target'           2 '--target' -- compare in/good.csv
bad 'no such column'      3 "'z'" -- compare in/good.csv --target z
bad 'no rows'             3 'empty.csv' -- compare in/empty.csv "${y[@]}"
bad 'no such file'        3 'none.csv' -- compare in/none.csv "${y[@]}"
bad 'an option of train'  2 '--output' -- compare in/good.csv "${y[@]}" --output x
bad 'a test that is none' 3 '--test' -- compare in/good.csv "${y[@]}" --test in/none.csv

end_report 16
