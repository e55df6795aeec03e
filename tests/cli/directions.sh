#!/usr/bin/env bash
# directions.sh ADVGP: sums of columns beside the columns, through every door: from CSV, Parquet and a packed folder the same
# rows are predicted alike; inspect, explain and report show them; a run goes on from a model that has them, is resumed and
# replayed to the same model.
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
  BEGIN { srand(4); print "a,b,c,kind,y"
    for (i = 0; i < 1500; i++) { a = normal(); b = 5 + 2 * normal(); c = normal()
      printf "%.6f,%.6f,%s,%s,%.6f\n", a, b, i % 40 ? c : "", i % 3 ? "red" : "blue", 10 + 3 * sin(1.5 * (a - b / 2)) + (i % 40 ? c : 0) + 0.1 * normal() } }' >in/t.csv
y=(--target y --seed 1)
small=(--method advgp -m 20 --components 1 --epochs 10 --cells none --noise constant)
number_of() { perl -MJSON::PP -0777 -ne 'print scalar @{decode_json($_)->{directions}}' <<<"$("$advgp" inspect "$1" --json)"; }
with() { [[ $(number_of "$2") -ge 1 ]] || tell "$1: the model has no directions"; }

# ---- taken, or not
good 'taken' 'sums of columns stand beside them, since the CRPS of a pilot on' '--directions none leaves them out' -- \
  train in/t.csv "${y[@]}" "${small[@]}" --json -o out/m
with 'taken' out/m
rmse=$(number rmse)
good 'left out' -- train in/t.csv "${y[@]}" "${small[@]}" --directions none --json -o out/none
[[ $(number_of out/none) == 0 ]] || tell 'left out: it has some'
awk -v a="$rmse" -v b="$(number rmse)" 'BEGIN { exit !(a < 0.8 * b) }' || tell "RMSE $rmse with directions, $(number rmse) without"
good 'one' -- train in/t.csv "${y[@]}" "${small[@]}" --directions 1 -o out/one
[[ $(number_of out/one) == 1 ]] || tell 'one: it has another number'
good 'of no process' 'no sums of columns stand beside them, which --directions asks for' -- train in/t.csv "${y[@]}" --method linear --directions 2 -o out/linear
for n in 0 9 -1 1.5 some; do bad "--directions $n" 2 '--directions' -- train in/t.csv "${y[@]}" --directions "$n" -o out/x; done

# ---- inspect, explain, report
good 'inspect' 'directions, sums of standardised columns:' '  1: ' 'direction 1 (' -- inspect out/m
grep -Eq '^  1: -?0\.[0-9]+ [ab] [+-] 0\.[0-9]+ [ab]$' said.out || tell "inspect: $(grep -A 2 '^directions' said.out)"
good 'inspect without' -- inspect out/none
grep -Eq '^directions|direction [0-9]' said.out && tell 'inspect without: it speaks of some'
good 'inspect --json' -- inspect out/m --json
perl -MJSON::PP -0777 -e 'my $o = decode_json(<STDIN>); my ($d) = @{$o->{directions}}; my $w = $d->{weights};
  my %columns = map { $_->{name} => 1 } @{$o->{columns}};
  exit !($columns{$d->{name}} && $d->{name} =~ /^direction 1 \(/ && $w->{a} * $w->{b} < 0 && !exists $w->{"kind=red"} && !exists $w->{"c (missing)"})' <said.out ||
  tell "inspect --json: $(head -c 400 said.out)"
for model in m one none; do
  "$advgp" explain out/$model in/t.csv --rows 1-50 --json >said.out 2>said.err || tell "explain $model: $(cat said.err)"
  "$advgp" predict out/$model in/t.csv -q | sed -n '2,51{s/,.*//;p}' >out/means
  n_cases=$((n_cases + 1))
  perl -MJSON::PP -0777 -e 'my $o = decode_json(<STDIN>); open my $f, "<", "out/means"; my @means = split " ", <$f>;
    for my $row (@{$o->{rows}}) {
      my ($sum, $mean) = (0, shift @means);
      for my $part (@{$row->{parts}}) {
        $sum += $part->{value};
        next unless $part->{kind} eq "line";
        my $line = 0;
        $line += $_ for values %{$part->{columns}};
        die "row $row->{row}: the columns of the line add up to $line, not $part->{value}\n" if abs($line - $part->{value}) > 1e-9;
        die "row $row->{row}: a line of other columns\n" if join(",", sort keys %{$part->{columns}}) ne "a,b,c,kind";
      }
      die "row $row->{row}: parts add up to $sum, predicted is $mean\n" if abs($sum - $mean) > 1e-9;
    }
    die "50 rows were asked\n" if @{$o->{rows}} != 50' <said.out 2>said.err || tell "explain $model: $(cat said.err)"
done
# A page is made; that effects move directions is asked by effect_test.c.
good 'report' -- report out/m --data in/t.csv -o out/page.html
[[ -s out/page.html ]] || tell 'report: no page'
rm -f out/page.html

# ---- every door
good 'as Parquet' -- predict out/m in/t.csv --keep a,b,c,kind,y -o in/t.parquet
"$advgp" predict out/m in/t.csv -q -o out/p.csv || tell 'predict from CSV'
"$advgp" predict out/m in/t.parquet -q -o out/q.csv || tell 'predict from Parquet'
cmp -s out/p.csv out/q.csv || tell 'CSV and Parquet are predicted otherwise'
good 'trained on Parquet' -- train in/t.parquet --features a,b,c,kind "${y[@]}" "${small[@]}" -o out/parquet
"$advgp" predict out/parquet in/t.csv -q -o out/q.csv || tell 'predict by a model of Parquet'
cmp -s out/p.csv out/q.csv || tell 'models of CSV and Parquet differ'
good 'packed' 'sums of columns stand beside them' -- pack in/t.csv "${y[@]}" --values float64 -o out/packed
bad 'packed, and then none' 2 '--directions' 'pack' -- train out/packed --directions none -o out/x
good 'trained on what was packed' -- train out/packed --seed 1 "${small[@]}" -o out/packed.safetensors
with 'packed' out/packed.safetensors
# Packed rows lie in the order of their shards: what is predicted is compared in the order of the means.
sorted() { "$advgp" predict "$1" "$2" -q | tail -n +2 | sort -g; }
alike() { # NAME MODEL DATA MODEL DATA
  n_cases=$((n_cases + 1))
  paste -d, <(sorted "$2" "$3") <(sorted "$4" "$5") | awk -F, 'function off(a, b) { return (a - b) ^ 2 > 1e-12 * (1 + b * b) }
    NF != 10 || off($1, $6) || off($2, $7) || off($3, $8) { n++ } END { exit !(NR == 1500 && !n) }' || tell "$1: predictions differ"
}
alike 'rows of a packed folder' out/m in/t.csv out/m out/packed
alike 'a model of a packed folder' out/m in/t.csv out/packed.safetensors in/t.csv
rm -r out/packed

# ---- on from a model
awk 'NR == 1 || NR % 4' in/t.csv >in/fewer.csv # other means and scales, so other units of the sums
for data in t fewer; do
  good "from a model, $data" -- train in/$data.csv "${y[@]}" --start out/m --epochs 2 --json -o out/next
  [[ $(number_of out/next) == "$(number_of out/m)" ]] || tell "from a model, $data: another number of directions"
  awk -v a="$rmse" -v b="$(number rmse)" 'BEGIN { exit !(b < 1.5 * a) }' || tell "from a model, $data: RMSE $(number rmse) after $rmse"
done
bad 'from a model, without its directions' 2 '--directions none' 'out/m has' -- train in/t.csv "${y[@]}" --start out/m --directions none -o out/x
good 'from a model without' -- train in/t.csv "${y[@]}" --start out/none --epochs 2 -o out/next
[[ $(number_of out/next) == 0 ]] || tell 'from a model without: it has some'

# ---- again, and on
rm -f out/log
good 'with a log' -- train in/t.csv "${y[@]}" "${small[@]}" --workers 2 --max-delay 4 --batch 200 --log out/log -o out/logged
with 'with a log' out/logged
good 'replayed' 'the same model, bit for bit' -- replay out/log -o out/again
cmp -s <("$advgp" predict out/logged in/t.csv -q) <("$advgp" predict out/again in/t.csv -q) || tell 'replayed: predictions differ'
long=(in/t.csv "${y[@]}" --method advgp -m 20 --components 1 --cells none --noise constant --workers 1 --batch 500 --epochs 30 --patience inf)
nap=(--delay-worker 0:0.05) # what is to be hit lasts some seconds by naps, not by work
good 'to its end' -- train "${long[@]}" -o out/whole
n_cases=$((n_cases + 1))
"$advgp" train "${long[@]}" "${nap[@]}" --checkpoint-every 1 -o out/killed >said.out 2>said.err &
pid=$!
until_there out/killed.checkpoint $pid
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
[[ -s out/killed.checkpoint ]] || tell 'killed: no checkpoint'
good 'resumed' -- train "${long[@]}" --resume out/killed.checkpoint -o out/killed
with 'resumed' out/killed
cmp -s <("$advgp" predict out/whole in/t.csv -q) <("$advgp" predict out/killed in/t.csv -q) || tell 'resumed: another model'
end_report 25
