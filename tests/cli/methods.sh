#!/usr/bin/env bash
# --method and --map as their users run them: every method and map trains, predicts, evaluates and is inspected; what does not go
# together is refused with the option's name; sparse models find the exact process on Snelson's rows.
#   methods.sh ADVGP [SNELSON.CSV]
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

y=(--target y)
table 600 >in/good.csv
table 300 | awk -F, -v OFS=, '{ $4 = NR == 1 ? "w" : NR % 3 + 1; $5 = NR == 1 ? "colour" : substr("redbluegre", NR % 3 * 3 + 1, 3) } 1' >in/kinds.csv
table 5200 4 >in/many.csv
table 20 >in/few.csv
looks_like model >out/kept.safetensors
cp out/kept.safetensors in/last-week
o=(-o out/kept.safetensors)

# whole NAME OPTIONS...: trains, with a log, and all the verbs take the model
whole() {
  local name=$1 m=out/$1.safetensors
  shift
  good "$name" -- train in/good.csv "${y[@]}" --validation 0.3 "$@" -o "$m" --log in/log --json
  for key in model rows rmse mnlp coverage/0.9 baseline/mean baseline/linear stopped wall_seconds cpu_seconds peak_rss_bytes; do
    [[ $(number $key) != null ]] || tell "$name: --json lacks $key"
  done
  local rmse
  rmse=$(number rmse)
  grep -q '"event":"eval"' in/log || tell "$name: no eval in its log"
  grep -q '"event":"done"' in/log || tell "$name: no done in its log"
  good "$name: predict" -- predict "$m" in/good.csv -o out/p.csv
  [[ $(head -n 1 out/p.csv) == mean,sd_f,sd_y,lo,hi && $(wc -l <out/p.csv) == 601 ]] || tell "$name: $(head -n 2 out/p.csv)"
  good "$name: the mean alone" -- predict "$m" in/good.csv --mean-only -o out/p1.csv
  diff -q <(cut -d, -f1 out/p.csv) out/p1.csv >/dev/null || tell "$name: the mean alone is another"
  good "$name: evaluate" -- evaluate "$m" in/good.csv --json
  close_to "$name: figures" "$(number rmse)" "$rmse" 0.5
  good "$name: inspect" "by ${method-advgp}" 'training record' 'plan of the training' -- inspect "$m"
  good "$name: inspect --json" -- inspect "$m" --json
  [[ $(number method) == "${method-advgp}" ]] || tell "$name: method $(number method)"
  rm -f in/log
}

# ---- methods ------------------------------------------------------------------------------------------------------------
for method in linear mean exact; do
  whole $method --method $method
  good "$method: what it prints" 'held-out rows)' 'linear regression' 'intervals' 'stopped because' -- \
    train in/good.csv "${y[@]}" --validation 0.3 --method $method -o out/m.safetensors
  good "$method: weights, text and a logarithm" -- train in/kinds.csv "${y[@]}" --weights w --log-target --method $method -o out/m.safetensors
  good "$method: predict them" -- predict out/m.safetensors in/kinds.csv -o out/p.csv
  good "$method: a test file" -- train in/good.csv "${y[@]}" --test in/kinds.csv --method $method -o out/m.safetensors --json
  good "$method: few rows" -- train in/few.csv "${y[@]}" --method $method -o out/m.safetensors
  good "$method: few rows: predict" -- predict out/m.safetensors in/few.csv -o out/p.csv
  good "$method: dry run" "would train with the method $method" -- train in/good.csv "${y[@]}" --method $method --dry-run -o out/none
  good "$method: the same again" -- train in/good.csv "${y[@]}" --method $method --seed 3 -o out/one.safetensors
  good "$method: the same again" -- train in/good.csv "${y[@]}" --method $method --seed 3 -o out/two.safetensors
  for n in one two; do "$advgp" predict out/$n.safetensors in/good.csv -o out/$n.csv -q; done
  cmp -s out/one.csv out/two.csv || tell "$method: the same seed gives other predictions"
done
# How many threads work chooses no method, and whoever names exact gets what auto takes: rows, kernel and figures.
for asked in '' '--workers 1' '--workers 2' '--method exact' '--method exact --workers 2'; do
  # shellcheck disable=SC2086
  good "the same fit: $asked" -- train in/good.csv "${y[@]}" $asked -o out/m.safetensors --json --log in/log
  figures="$(number method) $(number kernel) $(number rows) $(number rmse) $(number mnlp) $(number coverage/0.9)"
  "$advgp" predict out/m.safetensors in/good.csv -o out/p.csv -q
  [[ -e in/auto.csv ]] || { cp out/p.csv in/auto.csv; first=$figures; }
  [[ $(number rmse_se) != null && $(number r2_se) != null && $(number coverage_se/0.9) != null ]] || tell "the same fit: $asked: no standard errors"
  [[ $figures == "$first" && $figures == exact\ * ]] || tell "the same fit: $asked: $figures, not $first"
  cmp -s out/p.csv in/auto.csv || tell "the same fit: $asked: other predictions"
  grep -q "\"kernel\":\"$(number kernel)\"" in/log || tell "the same fit: $asked: no kernel in the log"
  rm -f in/log
done
good 'how sure few rows are' 'std. error' ' ± ' -- train in/good.csv "${y[@]}" -o out/m.safetensors
good 'the kernel is told' 'exact with the kernel ' ' training rows' -- train in/good.csv "${y[@]}" -o out/m.safetensors
printf 'x1,x2\n1e6,0.5\n0.5,\n' >in/strange.csv
good 'counts by column' -- predict out/m.safetensors in/strange.csv -o out/p.csv --json
grep -q '"columns": \[{"name": "x1", "outside_range": 1, "unseen": 0, "missing": 0}, {"name": "x2", "outside_range": 0, "unseen": 0, "missing": 1}\]' said.out || tell "counts by column: $(cat said.out)"
printf 'x1,x2,y\n1e6,0.5,1\n0.5,,2\n' >in/strange.csv
good 'counts by column, judged' -- evaluate out/m.safetensors in/strange.csv --json
grep -q '"columns": \[{"name": "x1", "outside_range": 1, "unseen": 0, "missing": 0}, {"name": "x2", "outside_range": 0, "unseen": 0, "missing": 1}\]' said.out || tell "counts by column, judged: $(cat said.out)"
good 'a plan without held-out rows' 'none held out: each row is judged by a model without it' -- train in/good.csv "${y[@]}" --dry-run
bad 'a cluster of exact' 2 '--transport' 'exact' -- train in/good.csv "${y[@]}" --method exact --transport zmq "${o[@]}"
for method in svigp distgp-gd distgp-lbfgs; do
  whole $method --method $method -m 20 --epochs 30
  good "$method: weights, text and a logarithm" -- train in/kinds.csv "${y[@]}" --weights w --log-target --method $method -m 15 --epochs 20 -o out/m.safetensors
  good "$method: the same again" -- train in/good.csv "${y[@]}" --method $method -m 15 --epochs 10 --seed 3 -o out/one.safetensors
  good "$method: the same again" -- train in/good.csv "${y[@]}" --method $method -m 15 --epochs 10 --seed 3 -o out/two.safetensors
  for n in one two; do "$advgp" predict out/$n.safetensors in/good.csv -o out/$n.csv -q; done
  cmp -s out/one.csv out/two.csv || tell "$method: the same seed gives other predictions"
done
unset method
for map in cholesky nystrom ensemble rvm; do
  good "prox with the map $map" -- train in/many.csv "${y[@]}" --validation 0.3 --map $map --optimizer prox -m 20 --components 1 --cells none --noise constant --json -o out/m.safetensors
  (( $(awk -v a="$(number rmse)" -v b="$(number baseline/mean)" 'BEGIN { print a < 0.7 * b }') )) || tell "prox, $map: RMSE $(number rmse), mean $(number baseline/mean)"
  good "prox with the map $map: predict" -- predict out/m.safetensors in/good.csv -o out/p.csv
done
bad 'workers of svigp' 2 '--workers' 'svigp' -- train in/good.csv "${y[@]}" --method svigp --workers 2 "${o[@]}"
bad 'precision of prox' 2 '--precision' 'prox' -- train in/good.csv "${y[@]}" --optimizer prox --precision mixed "${o[@]}"
bad 'precision of distgp' 2 '--precision' 'distgp-gd' -- train in/good.csv "${y[@]}" --method distgp-gd --precision double "${o[@]}"
bad 'optimizer of distgp' 2 '--optimizer' 'distgp-gd' -- train in/good.csv "${y[@]}" --method distgp-gd --optimizer prox "${o[@]}"
good 'linear: collinear columns are noted' 'coefficients follow from the others' -- train in/kinds.csv "${y[@]}" --method linear -o out/m.safetensors
# The one row of a category is off by all it is, for the method as for the baseline beside it.
table 60 | awk -F, -v OFS=, '{ $4 = NR == 1 ? "sort" : NR == 31 ? "odd" : NR % 2 ? "a" : "b" } NR == 31 { $3 += 50 } 1' >in/alone.csv
good 'linear: a row that is alone' -- train in/alone.csv "${y[@]}" --method linear --json -o out/m.safetensors
close_to 'linear: a row that is alone' "$(number rmse)" "$(number baseline/linear)" 1e-6
awk "BEGIN { exit !($(number rmse) > 5) }" || tell "linear: a row that is alone is said to be known: RMSE $(number rmse)"
good 'exact: kernel, trend and time' -- train in/good.csv "${y[@]}" --method exact --kernel matern52 --trend none --time 30 -o out/m.safetensors
good 'pack for a method' -- pack in/good.csv "${y[@]}" -o out/packed
good 'a packed folder' -- train out/packed --method linear -o out/m.safetensors
echo 'method = linear' >in/method.conf
good 'a method in a config file' 'linear, ' -- train in/good.csv "${y[@]}" --config in/method.conf -o out/m.safetensors

# ---- maps ---------------------------------------------------------------------------------------------------------------
quick=(-m 20 --epochs 40)
whole nystrom --map nystrom "${quick[@]}"
whole nystrom-rank --map nystrom --rank 7 "${quick[@]}" --components 2 --trend none
whole ensemble --map ensemble "${quick[@]}" --trend constant
whole ensemble-groups --map ensemble --groups 2 "${quick[@]}" --components 3
whole rvm --map rvm "${quick[@]}"
whole rvm-sum --map rvm "${quick[@]}" --components 2
# Kernels of another CPU round otherwise and may find other eigenvectors: the file says which were meant.
# Targets without noise are the hardest for an exact model: its covariance is next to singular.
awk 'BEGIN { srand(9); print "x1,x2,y"; for (i = 0; i < 400; i++) { x = 6 * rand(); z = rand(); printf "%.6f,%.6f,%.9f\n", x, z, sin(2.2 * x) + z * z } }' >in/smooth.csv
good 'exact, no noise' -- train in/smooth.csv "${y[@]}" --method exact -o out/smooth.safetensors
cores=(Prescott)
grep -qw avx2 /proc/cpuinfo && cores+=(Haswell)
for core in "${cores[@]}"; do
  for m in nystrom nystrom-rank ensemble exact linear smooth; do
    n_cases=$((n_cases + 1))
    OPENBLAS_CORETYPE=$core "${bounded[@]}" "$advgp" predict out/$m.safetensors in/good.csv -o out/p2.csv -q 2>said.err ||
      tell "$m on $core: $(cat said.err)"
  done
done
good 'fewer distinct rows than rank and groups' 'inducing points reduced' -- train in/few.csv "${y[@]}" --map nystrom -m 100 --rank 60 --epochs 5 -o out/m.safetensors
good 'fewer distinct rows than groups' -- train in/few.csv "${y[@]}" --map ensemble -m 100 --groups 60 --epochs 5 -o out/m.safetensors

# ---- what does not go together ------------------------------------------------------------------------------------------
rm -f out/*.csv out/m.safetensors
b() { bad "$1" "$2" "${@:3}" "${o[@]}"; }
train=(train in/good.csv "${y[@]}")
b 'no such method'         2 '--method' 'forest' 'advgp, svigp, distgp-gd, distgp-lbfgs, linear, mean or exact' -- "${train[@]}" --method forest
b 'no such map'            2 '--map' 'lanczos' 'cholesky, nystrom, ensemble or rvm' -- "${train[@]}" --map lanczos
b 'linear, inducing'       2 '--inducing' '--method linear' 'advgp' -- "${train[@]}" --method linear -m 5
b 'linear, kernel'         2 '--kernel' '--method linear' -- "${train[@]}" --method linear --kernel matern32
b 'linear, trend'          2 '--trend' '--method linear' -- "${train[@]}" --method linear --trend none
b 'linear, map'            2 '--map' '--method linear' -- "${train[@]}" --method linear --map rvm
b 'linear, epochs'         2 '--epochs' '--method linear' -- "${train[@]}" --method linear --epochs 3
b 'linear, time'           2 '--time' '--method linear' -- "${train[@]}" --method linear --time 3
b 'linear, checkpoint'     2 '--checkpoint' '--method linear' -- "${train[@]}" --method linear --checkpoint out/c
b 'linear, resume'         2 '--resume' '--method linear' -- "${train[@]}" --method linear --resume out/c
b 'mean, patience'         2 '--patience' '--method mean' -- "${train[@]}" --method mean --patience 3
b 'mean, batch'            2 '--batch' '--method mean' -- "${train[@]}" --method mean --batch full
b 'exact, components'      2 '--components' '--method exact' -- "${train[@]}" --method exact --components 2
b 'exact, step'            2 '--step' '--method exact' -- "${train[@]}" --method exact --step 0.1
b 'exact, start'           2 '--start' '--method exact' -- "${train[@]}" --method exact --start random
echo 'inducing = 5' >in/inducing.conf
b 'linear, in a file'      2 '--inducing' '--method linear' -- "${train[@]}" --method linear --config in/inducing.conf
b 'exact, too many rows'   3 'training rows' '5000' 'cube' '--method advgp' -- train in/many.csv "${y[@]}" --method exact --validation 0
b 'rank without nystrom'   2 '--rank 5' 'cholesky' 'nystrom' -- "${train[@]}" --rank 5
b 'rank with rvm'          2 '--rank 5' 'rvm' 'nystrom' -- "${train[@]}" --map rvm --rank 5
b 'rank with ensemble'     2 '--rank 5' 'ensemble' -- "${train[@]}" --map ensemble --rank 5
b 'rank above m'           2 '--rank 300' '200' '--inducing' -- "${train[@]}" --map nystrom --rank 300
b 'rank below components'  2 '--rank 3' '4 components' '--components' -- "${train[@]}" --map nystrom --rank 3 --components 4
b 'rank of nothing'        2 '--rank' '0' 'full' -- "${train[@]}" --map nystrom --rank 0
b 'groups without them'    2 '--groups 5' 'cholesky' 'ensemble' -- "${train[@]}" --groups 5
b 'groups with nystrom'    2 '--groups 5' 'nystrom' 'ensemble' -- "${train[@]}" --map nystrom --groups 5
b 'groups above m'         2 '--groups 30' '20 inducing inputs' '--inducing' -- "${train[@]}" --map ensemble --groups 30 -m 20
b 'groups times components' 2 '--groups 6' '4 components' '20' -- "${train[@]}" --map ensemble --groups 6 -m 20 --components 4
cmp -s out/kept.safetensors in/last-week || tell 'the model of last week was touched'

# ---- a line through every row -------------------------------------------------------------------------------------------
# 12 rows and 19 columns: nothing is left of any row, and each is left out in earnest all the same.
awk 'BEGIN { srand(3); for (k = 1; k < 20; k++) printf "x%d,", k; print "y"
             for (i = 0; i < 12; i++) { for (k = 1; k < 20; k++) { x = rand() * 2 - 1; if (k == 1) y = x; printf "%.6f,", x } printf "%.6f\n", y + rand() } }' >in/wide.csv
good 'a line through every row' -- train in/wide.csv "${y[@]}" --method linear -o out/w.safetensors --json
close_to 'a line through every row' "$(number rmse)" "$(number baseline/linear)" 0.001

# ---- Snelson's rows -----------------------------------------------------------------------------------------------------
if [[ -e ${2-} ]]; then
  law=(--target y --trend none --validation 0 -q)
  good 'Snelson, exact' -- train "$2" "${law[@]}" --method exact -o out/e.safetensors
  good 'Snelson, exact' -- predict out/e.safetensors "$2" -o out/e.csv
  good 'Snelson, noise' -- inspect out/e.safetensors --json
  noise=$(number noise)
  for map in cholesky nystrom; do
    good "Snelson, $map" -- train "$2" "${law[@]}" --map $map -m 15 -o out/s.safetensors
    good "Snelson, $map" -- predict out/s.safetensors "$2" -o out/s.csv
    gap=$(paste -d, out/e.csv out/s.csv | awk -F, -v noise="$noise" 'NR > 1 { d = $1 - $6; if (d < 0) d = -d; if (d > most) most = d } END { print most / noise }')
    awk -v g="$gap" 'BEGIN { exit !(g <= 0.05) }' || tell "Snelson, $map: the means are $gap noise deviations from the exact process"
  done
else
  echo "Snelson's rows are not here: that law is tested on generated rows only"
fi
end_report 120
