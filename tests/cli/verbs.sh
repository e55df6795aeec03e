#!/usr/bin/env bash
# What the verbs that read models promise: a row for a row, in order, whatever the format, the columns' order and the
# pieces in which rows arrive.       verbs.sh ADVGP MAKE_MODEL
set -uo pipefail
models=$(cd "$(dirname "${BASH_SOURCE[0]}")/../models" && pwd)
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
check() { seen=$((seen + 1)); [[ $2 == "$3" ]] || miss "$1: '$3' was expected, not '$2'"; }
near() { seen=$((seen + 1)); awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(d * d <= 1e-16 * (1 + b * b)) }' || miss "$1: $2 and $3 differ"; }
quietly() { "$advgp" "$@" 2> tmp/err.txt || miss "advgp $*: $(cat tmp/err.txt)"; }
# Rows of two answers, and how many numbers differ by more than rounding: where a block of rows ends, BLAS sums in another order.
differ() { paste -d, <(tail -n +2 "$1") <(tail -n +2 "$2") |
  awk -F, '{ for (k = 1; k <= 5; k++) if (($k - $(k + 5)) ^ 2 > 1e-24) n++ } END { print NR, n + 0 }'; }
field() { grep -oE "\"$1\": *[^,}]*" | head -1 | sed 's/.*: *//'; } # of one line of JSON

# predict: columns, rows, order
quietly predict m.safetensors t.csv --keep id,color,when,a -o out.csv
check "header" "$(head -1 out.csv)" "id,color,when,a,mean,sd_f,sd_y,lo,hi"
check "rows" "$(wc -l < out.csv)" 401
check "order" "$(cut -d, -f1 out.csv)" "$(cut -d, -f1 t.csv)"
check "kept columns" "$(cut -d, -f1-4 out.csv | head -2 | tail -1)" "$(awk -F, -v OFS=, 'NR == 2 { print $1, $4, $5, $2 }' t.csv)"
quietly predict m.safetensors t.csv > plain.csv
check "the same without kept columns" "$(cat plain.csv)" "$(cut -d, -f5- out.csv)"
check "lo < mean < hi" "$(awk -F, 'NR > 1 && !($4 < $1 && $1 < $5 && 0 < $2 && $2 < $3)' plain.csv)" ""
quietly predict m.safetensors t.csv --mean-only > mean.csv
check "the mean alone" "$(cat mean.csv)" "$(cut -d, -f1 plain.csv)"
quietly predict m.safetensors t.csv --interval 0.5 > half.csv
check "half as sure, narrower" "$(paste -d, plain.csv half.csv | awk -F, 'NR > 1 && !($9 > $4 && $10 < $5 && $6 == $1)')" ""
# the whole distribution: several intervals, quantiles, probabilities and draws, which agree
quietly predict m.safetensors t.csv --interval 0.5,0.9 --quantiles 0.05,0.25,0.5,0.95 --exceeds 10 --draws 2 > whole.csv
check "columns of the distribution" "$(head -1 whole.csv)" \
  "mean,sd_f,sd_y,lo_0.5,hi_0.5,lo_0.9,hi_0.9,q_0.05,q_0.25,q_0.5,q_0.95,p_exceeds,draw_1,draw_2"
check "the interval is that of its quantiles" "$(awk -F, 'NR > 1 && !($6 == $8 && $7 == $11 && $4 == $9)' whole.csv)" ""
check "levels nest" "$(awk -F, 'NR > 1 && !($6 <= $4 && $4 <= $10 && $10 <= $5 && $5 <= $7)' whole.csv)" ""
check "the same as alone" "$(cut -d, -f1-3,6-7 whole.csv | tail -n +2)" "$(tail -n +2 plain.csv)"
median=$(sed -n 2p whole.csv | cut -d, -f10)
near "half of a row is above its median" "$(quietly predict m.safetensors t.csv --exceeds "$median" | sed -n 2p | cut -d, -f6)" 0.5
check "two thresholds" "$(quietly predict m.safetensors t.csv --exceeds 10 --exceeds=-2.5 | head -1)" "mean,sd_f,sd_y,lo,hi,p_exceeds_10,p_exceeds_-2.5"
check "draws repeat" "$(quietly predict m.safetensors t.csv --draws 2 | cut -d, -f6-7)" "$(cut -d, -f13-14 whole.csv)"
check "another seed draws others" "$(quietly predict m.safetensors t.csv --draws 2 --seed 1 | cut -d, -f6-7 | cmp -s - <(cut -d, -f13-14 whole.csv); echo $?)" 1
check "draws lie in the 90 % interval nine times out of ten" "$(quietly predict m.safetensors t.csv --draws 50 | awk -F, 'NR > 1 {
  for (i = 6; i <= NF; i++) { n++; k += $i >= $4 && $i <= $5 } } END { print (n == 20000 && k / n > 0.89 && k / n < 0.91) }')" 1
quietly predict m.safetensors t.csv --interval 0.998 > far.csv; check "a rank that is not there is told" "$(grep -c "too few for 'lo'" tmp/err.txt)" 1
check "json" "$("$advgp" predict m.safetensors t.csv -o out.csv --json)" '{"output": "out.csv", "rows": 400, "unanswered": 0, "columns": []}'

# the same answers from other forms of the same rows
for j in 2 3 4; do (head -1 t.csv; tail -n +2 t.csv | awk -v j=$j 'NR % 5 == j') > part$j.csv; done
quietly predict m.safetensors part3.csv > some.csv
check "fewer rows, same answers" "$(differ some.csv <(head -1 plain.csv; tail -n +2 plain.csv | awk 'NR % 5 == 3'))" "80 0"
awk -F, -v OFS=, '{ print $6, $5, $4, $3, $2, $1 }' t.csv > reversed.csv
check "columns in another order" "$(quietly predict m.safetensors reversed.csv)" "$(cat plain.csv)"
check "without the target" "$(cut -d, -f1-5 t.csv | quietly predict m.safetensors -)" "$(cat plain.csv)"
check "compressed, from a pipe" "$(gzip -c t.csv | quietly predict m.safetensors -)" "$(cat plain.csv)"
(printf '\xef\xbb\xbf'; sed 's/$/\r/' t.csv) > dos.csv
check "with a mark and carriage returns" "$(quietly predict m.safetensors dos.csv)" "$(cat plain.csv)"
tr ',' ';' < t.csv > semicolons.csv
check "semicolons" "$(quietly predict m.safetensors semicolons.csv)" "$(cat plain.csv)"

# every output format can be read again
for end in csv jsonl parquet; do
  quietly predict m.safetensors t.csv --keep a,b,color,when,y,id -o copy.$end
  quietly predict m.safetensors copy.$end --keep id -o again.csv
  check "through $end and back" "$(cut -d, -f2- again.csv)" "$(cat plain.csv)"
  check "texts through $end" "$(cut -d, -f1 again.csv)" "$(cut -d, -f1 t.csv)"
done
head -1 t.csv > header.csv
for end in csv jsonl parquet; do
  quietly predict m.safetensors header.csv --keep id -o none.$end
  [[ -e none.$end ]] || miss "no rows, no $end file"
done
check "no rows" "$(cat none.csv)" "id,mean,sd_f,sd_y,lo,hi"
chmod 640 out.csv; quietly predict m.safetensors t.csv -o out.csv
check "permissions stay" "$(stat -c %a out.csv)" 640

# texts that need care
printf 'name,a,b,color,when,y\n"a ""b"", c",12,0.5,red,2024-05-01,1\n"two\nlines",12,0.5,violet,,2\n,,0.5,red,2024-05-01,\n' > care.csv
quietly predict m.safetensors care.csv --keep name,a,when -o care_out.csv
check "quotes" "$(sed -n 2p care_out.csv | cut -d, -f1-4)" '"a ""b"", c",12,2024-05-01'
check "line ends" "$(sed -n 3,4p care_out.csv | cut -d, -f1-3)" $'"two\nlines",12,'
check "missing" "$(sed -n 5p care_out.csv | cut -d, -f1-3)" ",,2024-05-01"
check "note of a new category" "$(grep -c "'color' holds categories not seen in training in 1 rows" tmp/err.txt)" 1
check "note of missing values" "$(grep -c "column 'a' is missing in 1 rows" tmp/err.txt)" 1
quietly predict m.safetensors care.csv -q > /dev/null
check "quiet" "$(cat tmp/err.txt)" ""
awk -F, -v OFS=, 'NR == 1 { print "big", "wide", "b2", $2, $3, $4, $5 } NR > 1 && NR < 40 { print "900719925474099" 100 + NR, NR == 9 ? "" : "-123456789012345678901234567890" NR, NR == 39 ? 0.5 : NR, $2, $3, $4, $5 }' t.csv > big.csv
cut -d, -f1,2 big.csv > big_only.csv
for end in csv parquet jsonl; do # every digit of a whole number survives every format, there and back
  quietly predict m.safetensors big.csv --keep big,wide,b2,a,b,color,when -o big_out.$end
  quietly predict m.safetensors big_out.$end --keep big,wide -o big_back.csv
  [[ $end == jsonl ]] || check "long numbers by $end" "$(cut -d, -f1,2 big_back.csv)" "$(cat big_only.csv)"
done
check "long numbers in JSON" "$(grep -c '"wide":-123456789012345678901234567890[0-9]' big_out.jsonl)" 37
check "by JSON and back" "$(cut -d, -f1 big_back.csv)" "$(cut -d, -f1 big_only.csv)"
check "fractions beside them" "$(cut -d, -f3 big_out.csv | sed -n '1p;2p;39p')" $'b2\n2\n0.5'
"$make_model" t.csv y sql_all.safetensors sql='SELECT * FROM data' || exit 1
awk -F, -v OFS=, 'NR > 1 { $1 = "90071992547409931" NR } 1' t.csv > big_sql.csv
quietly predict sql_all.safetensors big_sql.csv --keep id -o big_out.csv
check "note of long numbers by a query" "$(grep -c "note: column 'id'" tmp/err.txt)" 1

# a query in the model; options from a file
quietly predict sql.safetensors t.csv > by_query.csv
check "by query" "$(wc -l < by_query.csv)" 401

# new rows for a model of a query: files of other names, without the target, in order; what the query drops is counted
cut -d, -f1-5 t.csv | head -301 > tomorrow.csv
quietly predict sql.safetensors tomorrow.csv > tomorrow_out.csv
check "a query without its target" "$(differ tomorrow_out.csv <(head -301 by_query.csv))" "300 0"
mkdir shop
(echo "color,price"; seq 5000 | awk '{ print "c" $1 "," $1 }'; printf 'red,1\nblue,3\n') > shop/prices.csv
(head -1 t.csv; grep -v green t.csv | tail -n +2) > shop/trips.csv
query='SELECT f.id, f.a, f.b, p.price, f.y FROM trips f JOIN prices p USING (color) WHERE f.y IS NOT NULL AND f.b >= 0'
quietly train shop/trips.csv shop/prices.csv --sql "$query" --target y --exclude id --method linear -o join.safetensors > /dev/null
quietly predict join.safetensors tomorrow.csv shop/prices.csv --keep id -o joined.csv --json > joined.json
check "rows in order" "$(cut -d, -f1 joined.csv | tail -n +2)" "$(grep -v green tomorrow.csv | cut -d, -f1 | tail -n +2)"
check "dropped rows" "$(field input_rows < joined.json) $(field rows < joined.json)" "300 $(grep -vc 'green\|^id' tomorrow.csv)"
grep -q 'tomorrow.csv has 300 rows, and .* predictions follow: the query stored in the model drops the others' tmp/err.txt || miss "$(cat tmp/err.txt)"
grep -q "tomorrow.csv is the table 'trips' of the query" tmp/err.txt || miss "$(cat tmp/err.txt)"
cp shop/prices.csv tariff.csv
quietly predict join.safetensors tomorrow.csv --table prices=tariff.csv --keep id -o named.csv
check "by --table" "$(cat named.csv)" "$(cat joined.csv)"
quietly predict join.safetensors tomorrow.csv tariff.csv --keep id -o placed.csv
check "by place" "$(cat placed.csv)" "$(cat joined.csv)"
refuse() { "$advgp" "${@:3}" > tmp/out.txt 2> tmp/err.txt; check "$2" $? "$1"; grep -qF -- "$2" tmp/err.txt || miss "$2: $(cat tmp/err.txt)"; }
refuse 3 "the query reads 'trips', 'prices': name a file for each" predict join.safetensors tomorrow.csv
refuse 3 "more files are given than tables" predict sql.safetensors tomorrow.csv t.csv
refuse 3 "--table price: the query has no table of that name" predict join.safetensors tomorrow.csv --table price=tariff.csv
refuse 2 "--table x: the model has no query" predict m.safetensors t.csv --table x=few.csv
refuse 2 "tariff.csv" predict join.safetensors tomorrow.csv --table prices=tariff.csv -o tariff.csv
cmp -s tariff.csv shop/prices.csv || miss "a table was replaced by predictions"
refuse 2 "NAME=FILE" predict join.safetensors t.csv --table tariff.csv
sed 's/red\|blue/pink/' tomorrow.csv > pink.csv
refuse 3 "drops all 300 rows of pink.csv" predict join.safetensors pink.csv tariff.csv -o pink_out.csv
[[ ! -e pink_out.csv ]] || miss "a file of no predictions"
refuse 3 'the query stored in the model does not fit the data' evaluate join.safetensors tomorrow.csv tariff.csv
check "train --test of a query" "$("$advgp" train shop/trips.csv shop/prices.csv --sql "$query" --target y --exclude id --method linear \
  --test t.csv --quiet --json -o tested.safetensors | grep -c rmse)" 1
printf 'interval = 0.5\n' > half.conf
check "config" "$(quietly predict m.safetensors t.csv --config half.conf)" "$(cat half.csv)"

# a logarithmic target: the interval is that of the logarithm, the mean lies above its middle
quietly predict log.safetensors t.csv > log.csv
check "lognormal" "$(awk -F, 'NR > 1 && !($4 > 0 && $1 > sqrt($4 * $5) && $4 < $1 && $1 < $5)' log.csv)" ""
"$make_model" t.csv y gauss.safetensors log=1 calibrate=0 || exit 1
v=$(quietly predict gauss.safetensors t.csv | sed -n 2p) # whose interval is symmetric about the logarithm's mean
near "lognormal sd" "$(awk -F, '{ print sqrt(log(1 + ($3 / $1) ^ 2)) }' <<<"$v")" "$(awk -F, '{ print sqrt(2 * (log($1) - (log($4) + log($5)) / 2)) }' <<<"$v")"

# evaluate agrees with what predict says
json=$(quietly evaluate m.safetensors t.csv --json)
paste -d, <(cut -d, -f6 t.csv) plain.csv | tail -n +2 > both.csv
check "rows" "$(field rows <<<"$json")" 400
near "rmse" "$(field rmse <<<"$json")" "$(awk -F, '{ s += ($1 - $2) ^ 2 } END { printf "%.15g", sqrt(s / NR) }' both.csv)"
near "mae" "$(field mae <<<"$json")" "$(awk -F, '{ e = $1 - $2; s += e < 0 ? -e : e } END { printf "%.15g", s / NR }' both.csv)"
near "mnlp" "$(field mnlp <<<"$json")" "$(awk -F, '{ s += log(8 * atan2(1, 1) * $4 ^ 2) / 2 + ($1 - $2) ^ 2 / $4 ^ 2 / 2 } END { printf "%.15g", s / NR }' both.csv)"
near "r2" "$(field r2 <<<"$json")" "$(awk -F, '{ e += ($1 - $2) ^ 2; s += $1; q += $1 * $1 } END { printf "%.15g", 1 - e / (q - s * s / NR) }' both.csv)"
near "coverage" "$(grep -oE '"coverage": *\{[^}]*' <<<"$json" | head -1 | field 0.9)" "$(awk -F, '{ n += $1 >= $5 && $1 <= $6 } END { printf "%.15g", n / NR }' both.csv)"
near "Winkler's score" "$(field winkler <<<"$json")" "$(awk -F, '{ m = $1 < $5 ? $5 - $1 : $1 > $6 ? $1 - $6 : 0
  s += $6 - $5 + 20 * m } END { printf "%.15g", s / NR }' both.csv)"
near "the mean as a baseline" "$(sed 's/.*"baseline": //' <<<"$json" | field mean)" "$(awk -F, '{ s += $1; q += $1 * $1 } END { printf "%.15g", sqrt(q / NR - (s / NR) ^ 2) }' both.csv)"
quietly evaluate m.safetensors t.csv --by color > text.txt
check "by color, every row once" "$(sed -n "/^by 'color'/,\$p" text.txt | awk 'NR > 2 { n += $2 } END { print n }')" 400
check "by color as JSON" "$(quietly evaluate m.safetensors t.csv --by color --json | grep -o '"value": "[a-z]*", "rows"' | wc -l)" 3
check "by a day" "$(quietly evaluate m.safetensors t.csv --by when --json | grep -oE '"value": "2024-[0-9]{2}-[0-9]{2}"' | sort -u | wc -l)" 84
awk -F, -v OFS=, '{ $7 = NR == 1 ? "new" : NR % 3 ? "yes" : "no" } 1' t.csv > tmp/truths.csv
check "by a truth" "$(quietly evaluate m.safetensors tmp/truths.csv --by new --json | grep -oE '"value": "(true|false)"' | wc -l)" 2
rm tmp/truths.csv
"$advgp" evaluate m.safetensors t.csv --by colour 2> tmp/err.txt; check "by a column that is not there" "$?" 3
quietly evaluate m.safetensors t.csv > text.txt
# Figures of few rows have their standard errors, those of many rows have none.
grep -qE '^std\. error +[0-9.]+$' text.txt && grep -qE '^R2 .* ± 0\.[0-9]+$' text.txt && grep -q 'std. error of calibrated' text.txt || miss "standard errors: $(cat text.txt)"
errors=$(awk 'NR == 1 { print; next } { row[NR] = $0 } END { for (i = 0; i < 13; i++) for (k in row) print row[k] }' t.csv > many.csv; quietly evaluate m.safetensors many.csv --json)
for key in rmse_se r2_se; do
  seen=$((seen + 1))
  [[ $(field $key <<< "$json") =~ ^[0-9]\.?[0-9e.-]*$ && $(field $key <<< "$errors") == null ]] || miss "$key: $(field $key <<< "$json") of 400 rows, $(field $key <<< "$errors") of 5,200"
done
quietly evaluate m.safetensors many.csv > many.txt; grep -q '±\|std. error' many.txt && miss "standard errors of many rows: $(cat many.txt)"
grep -q '^RMSE' text.txt && grep -q '^    90 %' text.txt || miss "evaluate: $(cat text.txt)"
quietly evaluate log.safetensors t.csv --json > log.json
near "rmse of a logarithmic target" "$(field rmse < log.json)" "$(paste -d, <(cut -d, -f6 t.csv) log.csv | tail -n +2 | awk -F, '{ s += ($1 - $2) ^ 2 } END { printf "%.15g", sqrt(s / NR) }')"

# weights: a row of weight 2 is two rows
(head -1 t.csv | sed 's/$/,w/'; tail -n +2 t.csv | awk '{ print $0 "," (NR <= 100 ? 2 : 1) }') > weighted.csv
(sed 's/2$/1/' weighted.csv; sed -n 2,101p weighted.csv | sed 's/2$/1/') > repeated.csv
"$make_model" weighted.csv y weighted.safetensors weights=w || exit 1
near "weights" "$(quietly evaluate weighted.safetensors weighted.csv --json | field mnlp)" "$(quietly evaluate weighted.safetensors repeated.csv --json | field mnlp)"

# packed data: the same rows, the same figures
"$make_model" t.csv y packed.safetensors pack=packed || exit 1
near "a packed folder" "$(quietly evaluate packed.safetensors packed --json | field rmse)" "$(quietly evaluate packed.safetensors t.csv --json | field rmse)"
"$advgp" evaluate sql.safetensors packed 2> tmp/err.txt; check "a folder packed for another model" "$?" 3
grep -q 'was packed with other columns' tmp/err.txt || miss "$(cat tmp/err.txt)"

# linear regression, from the statistics, where it can be solved by hand: y on b alone
awk 'BEGIN { srand(2); print "b,y"; for (i = 0; i < 100; i++) { b = rand(); print b "," 3 * b + rand() } }' > line.csv
"$make_model" line.csv y line.safetensors || exit 1
near "linear regression" "$(quietly evaluate line.safetensors line.csv --json | sed 's/.*"baseline": //' | field linear)" \
  "$(tail -n +2 line.csv | awk -F, '{ n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2; yy += $2 * $2 }
     END { sxx = xx - x * x / n; sxy = xy - x * y / n; printf "%.15g", sqrt((yy - y * y / n - sxy * sxy / sxx) / n) }')"

# files of every format version so far are read by every later program, and predict what they did (stored beside them)
for model in "$models"/*.safetensors; do
  check "format of ${model##*/}" "$(quietly inspect "$model" --json | field format)" 1
done
for model in trained exact-log; do
  quietly predict "$models/format1-$model.safetensors" "$models/rows.csv" --interval 0.8 -o then.csv
  check "format1-$model predicts what it did" "$(paste -d, then.csv "$models/format1-$model.csv" | awk -F, 'NR > 1 {
    for (i = 1; i <= 5; i++) { d = $i - $(i + 5); if (!(NF == 10 && d * d <= 1e-18 * $(i + 5) * $(i + 5))) print } }')" ""
  check "as many rows" "$(wc -l < then.csv)" "$(wc -l < "$models/format1-$model.csv")"
done

# inspect and info
quietly inspect m.safetensors > text.txt
for piece in "a model of 'y' by advgp" "400 rows" "color " "onehot, 3 categories" "when (day of year)" "2: ard-rbf, cholesky" "calibrated on 400 rows"; do
  seen=$((seen + 1)); grep -qF -- "$piece" text.txt || miss "inspect does not say '$piece'"
done
check "target" "$(quietly inspect m.safetensors --json | field target)" '"y"'
check "info" "$(quietly info --json | field version)" "$(quietly --version | sed 's/advgp \(.*\)/"\1"/')"
check "our loops held to a level" "$(ADVGP_SIMD=sse quietly info --json | field loops)" '"sse"'
ADVGP_SIMD=mmx "$advgp" info > tmp/out 2> tmp/err; check "a level that there is not" "$? $(grep -c 'ADVGP_SIMD=mmx; it takes sse, avx2 or avx512' tmp/err)" '2 1'
for piece in OpenBLAS DuckDB cholesky ensemble matern52 packed inproc zmq mpi; do
  seen=$((seen + 1)); quietly info | grep -q "$piece" || miss "info does not say '$piece'"
done
# OpenBLAS takes a CPU that it does not know for an old one: the program begins once more with a core that uses what there is, unless
# somebody has chosen. ADVGP_TEST_CORE stands in for the mistake; a CPU without AVX2 has nothing to correct.
core() { env -u OPENBLAS_CORETYPE -u ADVGP_CORE_WAS "$@" "$advgp" info | sed -n 's/^core  *//p'; }
if grep -qw avx2 /proc/cpuinfo && quietly info | grep -q DYNAMIC_ARCH; then
  check "a wrong core is corrected" "$(core ADVGP_TEST_CORE=Prescott | sed 's/^\(SkylakeX\|Haswell\) //')" "(corrected: OpenBLAS had chosen Prescott)"
  check "once" "$(core ADVGP_TEST_CORE=Prescott ADVGP_CORE_WAS=Prescott | sed 's/=.*//')" "Prescott (below this CPU, which can OPENBLAS_CORETYPE"
  check "standard input goes on" "$(env -u OPENBLAS_CORETYPE ADVGP_TEST_CORE=Prescott "$advgp" predict m.safetensors - < t.csv 2>&1 | wc -l)" "$(wc -l < plain.csv)"
fi
check "whoever has chosen a core gets it" "$(core OPENBLAS_CORETYPE=Nehalem ADVGP_TEST_CORE=Prescott | sed 's/) .*/)/')" "Nehalem (by OPENBLAS_CORETYPE)"
check "a core that is good stays" "$(core ADVGP_TEST_CORE=SkylakeX)" "SkylakeX"
check "help" "$(quietly evaluate --help | head -2 | tr -s '\n ' ' ')" "advgp evaluate: error, likelihood and coverage of a model on a table with known targets "
(( bad == 0 )) && echo "$seen promises kept"
exit $bad
