#!/usr/bin/env bash
# explain.sh ADVGP: whatever kind of model it is, the parts of a prediction add up to what predict says, and rows are
# found by their numbers.
source "$(dirname "$0")/train_common.sh"
table 600 >in/t.csv
awk -F, -v OFS=, 'NR == 1 { print $0, "sort", "w"; next } { s = NR % 3 ? "red" : "green"; print $1, $2, $3 - 2.6 + (NR % 3), s, 1 + NR % 2 }' in/t.csv >in/mixed.csv
awk -F, -v OFS=, 'NR == 1 { print; next } { print $1, $2, exp($3) }' in/t.csv >in/log.csv
awk -F, -v OFS=, 'BEGIN { srand(3) } NR == 1 { print; next } { print $1, $2, $3 + $1 * (rand() + rand() + rand() - 1.5) }' in/t.csv >in/noisy.csv

# Of each row: its number, the mean, the sum of its parts, how many they are, and the sum as told.
sums() {
  sed 's/{"row"/\n&/g' "$1" | awk '/^{"row"/ {
    match($0, /"row": [0-9]+/); row = substr($0, RSTART + 7, RLENGTH - 7)
    match($0, /"mean": [^,]*/); mean = substr($0, RSTART + 8, RLENGTH - 8)
    match($0, /"sum": [^,]*/); told = substr($0, RSTART + 7, RLENGTH - 7)
    match($0, /"parts": \[[^]]*\]/); parts = substr($0, RSTART, RLENGTH); sum = n = 0
    while (match(parts, /"value": [^,}]*/)) { sum += substr(parts, RSTART + 9, RLENGTH - 9); n++; parts = substr(parts, RSTART + RLENGTH) }
    printf "%s %s %.17g %d %s\n", row, mean, sum, n, told }'
}
# model NAME TABLE PARTS OPTIONS...: trains it, and asks rows 2, 5, 6 and 7
model() {
  local name=$1 data=$2 parts=$3 scale=${scale-target}
  shift 3
  n_cases=$((n_cases + 1))
  "$advgp" train "in/$data" --target y --seed 1 --quiet "$@" -o "out/$name" >said.out 2>said.err || { tell "$name: no model: $(tail -n 1 said.err)"; return; }
  "$advgp" explain "out/$name" "in/$data" --rows 5-7,2,6 --json >out/json 2>said.err || { tell "$name: $(cat said.err)"; return; }
  COLUMNS=80 "$advgp" explain "out/$name" "in/$data" --rows 5-7,2,6 >out/text 2>said.err || tell "$name, as text: $(cat said.err)"
  [[ $(grep -c '^row ' out/text) == 4 ]] || tell "$name: not four rows in $(grep '^row ' out/text)"
  awk 'length($0) > 80' out/text | grep -q . && tell "$name: lines of more than 80 columns: $(awk 'length($0) > 80' out/text | head -n 1)"
  "$advgp" predict "out/$name" "in/$data" --quiet | awk -F, 'NR == 3 || (NR >= 6 && NR <= 8) { print NR - 1, $1 }' >out/predicted
  sums out/json | paste -d' ' - out/predicted | awk -v parts="$parts" -v scale="$scale" '
    function off(a, b) { return (a - b) ^ 2 > 1e-20 * (1 + b * b) }
    $1 != $6 { print "row " $1 " for " $6 }
    off($2, $7) { print "row " $1 ": mean " $2 ", predicted " $7 }
    off($3, $5) { print "row " $1 ": parts add up to " $3 ", not " $5 }
    scale == "target" && off($3, $7) { print "row " $1 ": parts add up to " $3 ", predicted is " $7 }
    $4 != parts { print "row " $1 ": " $4 " parts, not " parts }
    END { if (NR != 4) print NR " rows" }' >out/wrong
  [[ -s out/wrong ]] && tell "$name: $(cat out/wrong)"
}
small=(-m 8 --epochs 3)
model advgp t.csv 7 --method advgp --components 4 "${small[@]}" --cells none # mean, constant, line, four
model one mixed.csv 4 --method advgp --components 1 --weights w "${small[@]}" --cells none --bounds none
model cells t.csv 5 --method advgp --components 1 "${small[@]}" --cells 4
grep -q '"kind": "cell", "value"' out/json || tell "cells: none explains"
model exact t.csv 4 --method exact
grep -q '"kind": "training_row"' out/json || tell "exact: no training row is near"
model exact-flat mixed.csv 3 --method exact --trend constant --bounds none
model noisy noisy.csv 7 --method advgp --components 4 "${small[@]}" --cells none --noise varying
grep -q '"sd_factor": [0-9]' out/json || tell "varying noise: no factor"
model linear t.csv 3 --method linear
model mean t.csv 2 --method mean
model svigp t.csv 2 --method svigp --trend none "${small[@]}"
model distgp t.csv 4 --method distgp-gd "${small[@]}"
scale=logarithm model log log.csv 4 --method exact --log-target
grep -q 'adds up to the logarithm' out/text || tell "log: the text does not say what adds up"
# Cut at bounds: the sum is what it was before, and both are told.
awk -F, -v OFS=, 'NR == 1 { print; next } { print $1, $2, $1 < 0.5 ? 0 : 1 }' in/t.csv >in/steps.csv
awk -F, -v OFS=, '{ $1 = NR > 3 && NR < 9 ? 5 : $1; print }' in/steps.csv >in/far.csv
scale=cut model bounds steps.csv 3 --method linear --bounds 0:1
"$advgp" explain out/bounds in/far.csv --rows 4 --json >out/json
"$advgp" explain out/bounds in/far.csv --rows 4 >out/text
grep -q 'cut at the bound' out/text && grep -q '"cut": true' out/json || tell "bounds: nobody says that the mean was cut"

# Rows that are far away, missing or not known say so.
cat >in/odd.csv <<'EOF'
x1,x2,sort,w
50,0.5,red,1
0.5,0.5,violet,1
0.5,0.5,red,1
EOF
"$advgp" explain out/one in/odd.csv --rows 1-3 >out/text 2>said.err || tell "odd rows: $(cat said.err)"
grep -q "column 'x1' is 50, outside of" out/text || grep -q "column 'x1' is taken as" out/text || tell "odd: 50 is far: $(cat out/text)"
grep -q "column 'sort' is missing or holds a category not seen" out/text || tell "odd: violet was never seen"
"$advgp" explain out/exact-flat in/odd.csv --rows 1-3 >out/text 2>said.err || tell "odd rows: $(cat said.err)"
left=($(grep 'prior variance is left' out/text | awk '{ print $1 }'))
awk -v far="${left[0]}" -v near="${left[2]}" 'BEGIN { exit !(far > 5 * near) }' || tell "odd: ${left[0]} % left far away, ${left[2]} % nearby"
bad "no such row" 3 "--rows: " "has 3 rows, and no row 4" -- explain out/one in/odd.csv --rows 2,4 --json
bad "no number" 2 "--rows" "7-3" -- explain out/one in/odd.csv --rows 7-3
bad "from 1" 2 "--rows" -- explain out/one in/odd.csv --rows 0
end_report 15
