#!/usr/bin/env bash
# examples/read_model.py, which knows only docs/model-format.md, predicts what `advgp predict` predicts, to 1e-9.
#   read_model.sh ADVGP MAKE_MODEL READ_MODEL.PY
set -uo pipefail
advgp=$1 make_model=$2 reader=$3
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; break; fi
done
[[ -n $python ]] || { echo "skipped: no python3 with numpy"; exit 77; }
dir=$(mktemp -d) && cd "$dir" && trap 'rm -rf "$dir"' EXIT

awk 'BEGIN { srand(3); print "b,y,a"
  for (i = 0; i < 300; i++) { a = 1e4 + 3 * rand(); b = rand() / 1000; print b "," sin(a) + 900 * b + rand() / 5 "," a } }' > t.csv
bad=0 n=0
check() { # WHAT: m.safetensors is read alike
  "$advgp" predict m.safetensors t.csv --interval 0.85 -o ours.csv || exit 1
  "$python" "$reader" m.safetensors t.csv 0.85 > theirs.csv || exit 1
  "$python" - "$1" <<'P' || bad=1
import csv, sys
ours, theirs = (list(csv.reader(open(name))) for name in ('ours.csv', 'theirs.csv'))
gap = max(abs(float(x) - float(y)) for a, b in zip(ours[1:], theirs[1:]) for x, y in zip(a, b))
if ours[0] != theirs[0] or len(ours) != 301 or len(theirs) != 301 or not gap <= 1e-9:
    sys.exit(f'{sys.argv[1]}: they differ by {gap}, in {len(ours)} and {len(theirs)} lines')
P
  n=$((n + 1))
}
for kernel in ard-rbf matern32 matern52; do for trend in linear constant none; do for components in 1 3; do
  "$make_model" t.csv y m.safetensors kernel=$kernel trend=$trend components=$components m=15 || exit 1
  check "$kernel, $trend trend, $components components"
done; done; done
train() { "$advgp" train t.csv --target y -o m.safetensors -q "$@" > /dev/null || exit 1; }
for map in 'nystrom' 'nystrom --rank 8' 'ensemble --groups 2' 'rvm'; do for components in 1 3; do
  # shellcheck disable=SC2086
  train --noise constant --map $map -m 15 --epochs 20 --components $components
  check "map $map, $components components"
done; done
for cells in 1 2; do
  train --noise constant -m 15 --epochs 20 --components 2 --cells $cells
  check "$cells cells"
done
for method in linear mean 'exact --noise constant' 'exact --trend none' 'exact --trend constant --kernel matern32'; do
  # shellcheck disable=SC2086
  train --method $method
  check "method $method"
done
train -m 15 --epochs 20 --noise varying
check 'noise that varies'
awk 'BEGIN { srand(5); print "b,y,a"
  for (i = 0; i < 6000; i++) { a = 1e4 + 3 * rand(); b = rand() / 1000; y = sin(a) + 900 * b - 1 + rand() / 5; print b "," (y > 0 ? y : 0) "," a } }' > cut.csv
"$advgp" train cut.csv --target y -o m.safetensors -q -m 15 --epochs 20 --components 1 --cells none --validation 0.2 > /dev/null || exit 1
grep -q group_calibration m.safetensors || { echo 'no scores by group'; bad=1; }
check 'scores by group'
train --method exact --noise varying
check 'method exact, noise that varies'
awk -F, -v OFS=, '{ print $0, NR == 1 ? "w" : NR % 3 + 1 }' t.csv > w.csv
"$advgp" train w.csv --target y --weights w --method exact -o m.safetensors -q > /dev/null || exit 1
check 'method exact, weighted'
cp t.csv plain.csv
awk -F, -v OFS=, 'NR > 1 { $1 = exp(6000 * $1) } { print }' plain.csv > t.csv
train --method linear --warp ranks
grep -q '\\"ranks\\"' m.safetensors || { echo 'no ranks'; bad=1; }
check 'a column by its ranks'
mv plain.csv t.csv
awk -F, -v OFS=, 'NR == 20 { $1 = 1e6 } NR == 30 { $3 = -1e6 } { print }' t.csv > far.csv
"$advgp" train far.csv --target y --method linear --bounds -1.2:2.2 -o m.safetensors -q > /dev/null && mv far.csv t.csv || exit 1
check 'columns with outliers'
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
  BEGIN { srand(4); print "b,y,a,c"
  for (i = 0; i < 1200; i++) { a = 1e4 + 3 * normal(); b = normal() / 1000; c = normal(); print b "," 2 * sin((a - 1e4) / 2 - 1500 * b) + c + normal() / 10 "," a "," c } }' > sums.csv
head -301 sums.csv > t.csv
for how in '--method exact --noise constant' '--method advgp -m 20 --components 2 --epochs 10 --cells 2 --noise varying' '--method advgp -m 20 --epochs 10 --directions 1'; do
  # shellcheck disable=SC2086
  "$advgp" train sums.csv --target y -o m.safetensors -q $how > /dev/null || exit 1
  grep -q '\\"directions\\":\[\[' m.safetensors || { echo "no directions: $how"; bad=1; }
  check "directions, $how"
done
(( bad == 0 )) && echo "$n models read without advgp"
exit $bad
