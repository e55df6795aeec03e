#!/usr/bin/env bash
# What train and pack accept: every shape of input that DESIGN.md 4 promises, and what they say of it.
#   train_good.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

y=(--target y)
quick=("${y[@]}" --epochs 1 -m 5 --noise constant --json -o out/m.safetensors)
rows=200
table $rows >in/good.csv

good plain -- train in/good.csv "${quick[@]}"
plain=$(number rmse)
[[ $(number rows) == $rows* ]] || tell "plain: $(number rows) rows"
for key in model rows rmse mnlp coverage neg_elbo baseline stopped wall_seconds cpu_seconds peak_rss_bytes coverage/0.5 \
           coverage/0.8 coverage/0.9 coverage/0.95 coverage/0.99 baseline/mean baseline/linear; do
  [[ $(number $key) != null ]] || tell "--json lacks $key"
done
# same NAME FRAGMENT... -- ARGUMENTS: trains to the result of the plain table
same() { good "$@" "${quick[@]}" && close_to "$1" "$(number rmse)" "$plain" 1e-6; }

# ---- encodings and dialects -------------------------------------------------------------------------------------------
{ printf '\357\273\277'; cat in/good.csv; } >in/bom.csv
sed 's/$/\r/' in/good.csv >in/crlf.csv
tr , ';' <in/good.csv >in/semicolon.csv
tr , '\t' <in/good.csv >in/tabs.tsv
sed '1s/.*/"x1","x2","y"/' in/good.csv >in/quoted.csv
perl -e 'print "\xff\xfe"; while (<STDIN>) { print map { "$_\0" } split //; }' <in/good.csv >in/utf16.csv
perl -e 'print "\xfe\xff"; while (<STDIN>) { print map { "\0$_" } split //; }' <in/good.csv >in/utf16be.csv
gzip -c in/good.csv >in/good.csv.gz
head -c -1 in/good.csv >in/noend.csv
{ cat in/good.csv; printf '\n'; } >in/blank.csv
awk -F, 'NR > 1 { printf "{\"x1\": %s, \"x2\": %s, \"y\": %s}\n", $1, $2, $3 }' in/good.csv >in/good.jsonl
awk -F, -v OFS=, '{ print $3, $1, $2 }' in/good.csv >in/order.csv
cp in/good.csv 'in/a name with [brackets], spaces and "quotes".csv'
same 'byte order mark' -- train in/bom.csv
same 'CRLF' -- train in/crlf.csv
same 'semicolons' -- train in/semicolon.csv
same 'tabs' -- train in/tabs.tsv
same 'quoted header' -- train in/quoted.csv
same 'UTF-16, little end first' 'UTF-16' -- train in/utf16.csv
same 'UTF-16, big end first' 'UTF-16' -- train in/utf16be.csv
same 'gzip' -- train in/good.csv.gz
same 'no newline at the end' -- train in/noend.csv
same 'an empty last line' -- train in/blank.csv
same 'JSON lines' -- train in/good.jsonl
same 'an odd name' -- train 'in/a name with [brackets], spaces and "quotes".csv'
same 'standard input' -- train - <in/good.csv
good 'standard input, gzip' -- train - "${quick[@]}" <in/good.csv.gz
good 'the target first' -- train in/order.csv "${quick[@]}"
mkfifo in/pipe
cat in/good.csv >in/pipe &
same 'a FIFO' -- train in/pipe
wait

# What no look at the file can tell, or what it may guess wrong, said by options.
tail -n +2 in/good.csv >in/bare.csv
tr , '~' <in/good.csv >in/tilde.csv
sed '3~7s/^[^,]*,/,/' in/good.csv >in/gaps.csv
sed '3~7s/^,/nil,/' in/gaps.csv >in/nil.csv
good 'no header line' 'c3' -- train in/bare.csv --header no --target c3 --epochs 1 -m 5 --json -o out/m.safetensors &&
  close_to 'no header line' "$(number rmse)" "$plain" 1e-6
same 'a delimiter of its own' -- train in/tilde.csv --delimiter '~'
good 'gaps' -- train in/gaps.csv "${quick[@]}"
gaps=$(number rmse)
good 'gaps with a name' -- train in/nil.csv --na nil "${quick[@]}" && close_to 'gaps with a name' "$(number rmse)" "$gaps" 1e-9
good 'the name is in the model' "'x1' is missing in" -- predict out/m.safetensors in/nil.csv -o out/p.csv
cmp -s out/p.csv <("$advgp" predict out/m.safetensors in/gaps.csv -q) || tell 'gaps with a name are predicted otherwise than gaps'

# Dates and amounts in several writings are the same numbers.
# written FILE DATE AMOUNT SHARE: a table with them, as awk writes them
written() {
  awk -F, -v OFS=, -v date="$2" -v amount="$3" -v share="$4" 'NR == 1 { print $0, "day,paid,share"; next } {
    d = NR % 28 + 1; m = NR % 12 + 1; a = 1000 + NR * 7 % 900; s = NR * 13 % 100
    month = substr("JanFebMarAprMayJunJulAugSepOctNovDec", 3 * m - 2, 3)
    day = date == "iso" ? sprintf("2021-%02d-%02d", m, d) : date == "dots" ? sprintf("%02d.%02d.2021", d, m) : \
          date == "us" ? sprintf("%02d/%02d/2021", m, d) : date == "named" ? sprintf("\"%s %dth, 2021 at 12:00 AM\"", month, d) : \
          date == "old" ? sprintf("%s %d 00:00:00 UTC 2021", month, d) : sprintf("%02d|%02d|2021", d, m)
    paid = amount == "plain" ? a : amount == "blanks" ? sprintf("  %+d ", a) : sprintf("\"$%d,%03d\"", a / 1000, a % 1000)
    print $0, day, paid, share == "plain" ? s / 100 : s " %" }' in/good.csv >"in/$1"
}
written iso.csv iso plain plain
written dots.csv dots money percent
written us.csv us money plain
written bars.csv bars plain plain
written named.csv named blanks plain
written old.csv old plain percent
good 'dates and amounts, plain' -- train in/iso.csv "${quick[@]}"
written=$(number rmse)
as_written() { good "$@" "${quick[@]}" && close_to "$1" "$(number rmse)" "$written" 1e-6; }
as_written 'days first, dollars, per cent' 'day first' -- train in/dots.csv
as_written 'months first, dollars' 'month first' -- train in/us.csv
as_written 'names of months, signs and blanks' 'month first' "'paid' is read as numbers" -- train in/named.csv
as_written 'the year behind the time' 'month first' -- train in/old.csv
as_written 'a format of its own' -- train in/bars.csv --date-format 'day=%d|%m|%Y'

mkdir -p in/parts/deep
{ head -n 81 in/good.csv; } >in/parts/a.csv
{ head -n 1 in/good.csv; sed -n '82,$p' in/good.csv; } >in/parts/b.csv
echo 'not data' >in/parts/readme.md
same 'a folder' -- train in/parts
same 'a glob' -- train 'in/parts/*.csv'
same 'two files' -- train in/parts/a.csv in/parts/b.csv
mkdir -p in/places/place=north in/places/place=south
cp in/good.csv in/places/place=north/a.csv
awk -F, -v OFS=, 'NR > 1 { $3 += 9 } 1' in/good.csv >in/places/place=south/a.csv
good 'folders with a column' -- train in/places "${quick[@]}"
good 'one of these folders' -- predict out/m.safetensors in/places/place=south -o out/p.csv
good 'a file in it' -- predict out/m.safetensors in/places/place=south/a.csv -o out/p.csv
awk -F, 'NR > 1 { s += $1 } END { exit !(s / (NR - 1) > 10) }' out/p.csv || tell "rows of place=south are not taken for such: $(head -n 2 out/p.csv)"

# ---- columns ----------------------------------------------------------------------------------------------------------
columns() { table 300 | awk -F, -v OFS=, "$2" >"in/$1"; }
columns latin1.csv '{ $4 = NR == 1 ? "ort" : NR % 2 ? "K\366ln" : "M\374nchen" } 1'
columns newline.csv '{ $4 = NR == 1 ? "note" : NR % 2 ? "\"a\nb, c\"" : "\"say \"\"d\"\"\"" } 1'
columns kinds.csv '{ if (NR == 1) $4 = "flag,day,when,colour,shop,name,same,none"
  else $4 = (NR % 3 ? "true" : "false") "," sprintf("2024-%02d-%02d", NR % 12 + 1, NR % 28 + 1) "," sprintf("2024-03-%02d %02d:15:00", NR % 28 + 1, NR % 24) \
    "," substr("redbluegre", NR % 3 * 3 + 1, 3) ",shop " NR % 12 ",person " NR ",7," } 1'
columns gaps.csv 'NR > 1 && NR % 7 == 0 { $1 = "" } NR > 1 && NR % 11 == 0 { $2 = NR % 2 ? "nan" : "inf" } NR > 1 && NR % 13 == 0 { $3 = "" } 1'
columns weights.csv '{ $4 = NR == 1 ? "w" : NR % 4 } 1'
columns bad.csv '{ $4 = NR == 1 ? "w" : NR % 4 ? 1 : 0; if (NR > 1 && NR % 4 == 0) $3 = 1e6 } 1'
columns many.csv '{ $4 = NR == 1 ? "who" : "who" NR % 290 } 1'
columns us.csv '{ $4 = NR == 1 ? "day" : sprintf("%02d/%02d/2024", NR % 28 + 1, NR % 12 + 1) } 1'
good 'Latin-1' 'Latin-1' -- train in/latin1.csv "${quick[@]}"
good 'quoted newlines' -- train in/newline.csv "${quick[@]}"
[[ $(number rows) == 300* ]] || tell "quoted newlines: $(number rows) rows"
good 'kinds of columns' "'name' is left out" "'same' is left out: it is the same" "'none' is left out: all its values are missing" -- \
  train in/kinds.csv "${quick[@]}"
good 'inspect the kinds' -- inspect out/m.safetensors --all
for name in flag colour=red 'day (weekday)' 'when (minute' shop; do
  grep -qF -- "$name" said.out || tell "the model has no input $name: $(head -c 1500 said.out)"
done
good 'days before months' -- train in/us.csv "${quick[@]}"
good 'gaps' "'x1' is missing in" "'x2' is missing in" "without a value of 'y'" -- train in/gaps.csv "${quick[@]}"
[[ $(grep -c "'x1' is missing" said.err) == 1 ]] || tell "gaps are noted more than once: $(cat said.err)"
good 'gaps dropped' 'with a missing input are left out' -- train in/gaps.csv "${quick[@]}" --missing drop
good 'weights' 'of weight 0 are left out' -- train in/weights.csv "${quick[@]}" --weights w
good 'rows of weight 0 are as if absent' -- train in/bad.csv "${quick[@]}" --weights w
awk "BEGIN { exit !($(number baseline/mean) < 10) }" || tell "rows of weight 0 count: $(number baseline/mean)"
# Weights of importance say nothing of how many rows there are; counts do.
columns even.csv '{ $4 = NR == 1 ? "w" : 1 } 1'
columns small.csv '{ $4 = NR == 1 ? "w" : "1e-4" } 1'
steps=("${y[@]}" --epochs 100 -m 10 --json -o out/m.safetensors --noise constant --weights w)
good 'weights of 1' -- train in/even.csv "${steps[@]}"
even=$(number rmse)
good 'small weights' 'a mean of 0.0001 and are scaled to 1' '--weights-are counts' -- train in/small.csv "${steps[@]}"
awk "BEGIN { a = $(number rmse) / $even; exit !(a > 0.999 && a < 1.001) }" || tell "weights of 1e-4 give $(number rmse), of 1 $even"
good 'they are in the model' "weighted by 'w' (importance)" -- inspect out/m.safetensors
good 'small counts' 'these count as 0.03 rows' -- train in/small.csv "${steps[@]}" --weights-are counts
awk "BEGIN { exit !($(number rmse) > 2 * $even) }" || tell "counts of 1e-4 give $(number rmse), of 1 $even"
# Beyond what single precision holds: such steps are in double.
columns large.csv '{ $4 = NR == 1 ? "w" : "1e40" } 1'
good 'counts of 1e40' -- train in/large.csv "${steps[@]}" --weights-are counts
awk "BEGIN { exit !($(number rmse) < 2 * $even) }" || tell "counts of 1e40 give $(number rmse), of 1 $even"
good 'weights of packed rows' -- pack in/small.csv "${y[@]}" --weights w -o out/small.packed
good 'packed weights' -- train out/small.packed "${steps[@]:2:9}" # the manifest has the rest
awk "BEGIN { a = $(number rmse) / $even; exit !(a > 0.99 && a < 1.01) }" || tell "packed weights of 1e-4 give $(number rmse), of 1 $even"
rm -r out/small.packed
# A file of new rows has some of the categories, and looks otherwise without the others.
columns answers.csv '{ $4 = NR == 1 ? "answer,paid" : substr("yes  no   maybe", NR % 3 * 5 + 1, 5) ",\"1." 100 + NR ",50\""; gsub(" ", "") } 1'
good 'answers' -- train in/answers.csv "${quick[@]}"
{ head -n 1 in/answers.csv; grep -v maybe in/answers.csv | grep '\.' | sed 's/,50"/"/'; } >in/some.csv
good 'some of the answers' -- predict out/m.safetensors in/some.csv -o out/p.csv
! grep -q 'not seen\|outside' said.err || tell "some of the answers: $(cat said.err)"
columns digits.csv '{ $4 = NR == 1 ? "day" : 20200100 + NR % 28 + 1 } 1'
good 'digits that are dates' "--date-format 'day=%Y%m%d'" -- train in/digits.csv "${quick[@]}"
good 'too many texts' "'who' is left out" 'too few of each' -- train in/many.csv "${quick[@]}"
good 'too many texts, wanted' -- train in/many.csv "${quick[@]}" --encode who=target
good 'features' -- train in/good.csv "${quick[@]}" --features x1
good 'exclude' -- train in/good.csv "${quick[@]}" --exclude x1
good 'logarithm' -- train in/good.csv "${quick[@]}" --log-target
# The regression of a logarithm answers by its own lognormal mean, as --method linear does.
table 600 3 | awk -F, -v OFS=, 'NR > 1 { $3 = exp(4 * $1 - 3 * $2 + $3) } 1' >in/exponential.csv
good 'linear regression of a logarithm' -- train in/exponential.csv "${y[@]}" --json -o out/m.safetensors --log-target --method linear
awk "BEGIN { a = $(number baseline/linear) / $(number rmse); exit !(a > 0.98 && a < 1.02) }" ||
  tell "of a logarithm the baseline has $(number baseline/linear), the method $(number rmse)"
# Squares of such targets are 0, their logarithms are not: the figures are those of the same rows in other units.
of_logarithm="$(number rmse) $(number baseline/mean) $(number baseline/linear)"
awk -F, -v OFS=, 'NR > 1 { $3 = $3 "e-200" } 1' in/exponential.csv >in/tiny.csv
good 'a logarithm of tiny targets' -- train in/tiny.csv "${y[@]}" --json -o out/m.safetensors --log-target --method linear
awk -v a="$of_logarithm" -v b="$(number rmse) $(number baseline/mean) $(number baseline/linear)" \
  'BEGIN { split(a, x, " "); split(b, y, " "); for (i = 1; i <= 3; i++) { r = y[i] * 1e200 / x[i]; if (!(r > 0.9999 && r < 1.0001)) exit 1 } }' ||
  tell "tiny targets: $(number rmse) $(number baseline/mean) $(number baseline/linear), not 1e-200 times $of_logarithm"
good 'evaluated' -- evaluate out/m.safetensors in/tiny.csv --json
awk "BEGIN { r = $(number r2); exit !(r > 0.1 && r < 1) }" || tell "tiny targets: r2 is $(number r2)"
good 'a number as text' -- train in/kinds.csv "${quick[@]}" --encode flag=number --exclude name
good 'fewer distinct rows than points' 'reduced from' -- train in/good.csv "${y[@]}" --epochs 1 -m 500 -o out/m.safetensors
good 'a config file' -- train in/good.csv --config <(printf 'target = y\nepochs = 1\n# note\ninducing = 5\noutput = "out/m.safetensors"\n')
good 'last rows' -- train in/good.csv "${quick[@]}" --validation last:0.2
table 100 9 >in/held.csv
good 'validation by file' -- train in/good.csv "${quick[@]}" --validation in/held.csv
# Every figure of a table is of the same rows.
table 600 8 >in/train.csv
awk -F, -v OFS=, 'NR > 1 { $1 += 0.5; $3 += 1 } 1' in/held.csv >in/other.csv
good 'test file' -- train in/train.csv "${quick[@]}" --test in/other.csv
[[ $(number scored_rows) == 100 ]] || tell "test file: figures of $(number scored_rows) rows"
test_figures="$(number rmse) $(number baseline/mean) $(number baseline/linear)"
good 'the test file evaluated' -- evaluate out/m.safetensors in/other.csv --json
awk -v a="$test_figures" -v b="$(number rmse) $(number baseline/mean) $(number baseline/linear)" \
  'BEGIN { split(a, x, " "); split(b, y, " "); for (i = 1; i <= 3; i++) if (!(x[i] / y[i] > 0.999 && x[i] / y[i] < 1.001)) exit 1 }' ||
  tell "train --test says $test_figures, evaluate $(number rmse) $(number baseline/mean) $(number baseline/linear)"
good 'a table says of how many rows it is' -- train in/train.csv "${y[@]}" --epochs 1 -m 5 -o out/m.safetensors --test in/other.csv
grep -q '(100 rows of --test)' said.out || tell "the table does not say of which rows it is: $(sed -n 3p said.out)"
table 900 4 | awk -F, -v OFS=, '{ $4 = NR == 1 ? "g" : "g" NR % 40 } 1' >in/groups.csv
good 'whole groups' -- train in/groups.csv "${quick[@]}" --validation group:g

# ---- SQL ----------------------------------------------------------------------------------------------------------------
awk -F, -v OFS=, 'NR == 1 { print "id", "x1", "y"; next } { print NR, $1, $3 }' in/good.csv >in/left.csv
awk -F, -v OFS=, 'NR == 1 { print "id", "x2"; next } { print NR, $2 }' in/good.csv >in/right.csv
same 'a join' -- train in/left.csv in/right.csv --sql 'SELECT x1, x2, y FROM "left" JOIN "right" USING (id) ORDER BY id'
same 'one table is data' -- train in/good.csv --sql 'SELECT * FROM data'
good 'Parquet, written' -- predict out/m.safetensors in/good.csv --keep x1,x2,y -o in/good.parquet
same 'Parquet' -- train in/good.parquet --features x1,x2

# ---- order, packing, promises -------------------------------------------------------------------------------------------
table 2000 7 >in/two.csv
{ head -n 1 in/two.csv; tail -n +2 in/two.csv | sort -t, -k3,3g; } >in/sorted.csv
full=("${y[@]}" -m 20 --components 1 --epochs 30 --noise constant --json -o out/m.safetensors)
good 'shuffled' -- train in/two.csv "${full[@]}"
shuffled=$(number rmse)
good 'sorted by the target' -- train in/sorted.csv "${full[@]}"
close_to 'sorted by the target' "$(number rmse)" "$shuffled" 0.25
good 'greedy' -- train in/two.csv "${full[@]}" --start greedy
close_to 'greedy' "$(number rmse)" "$shuffled" 0.25
cp out/m.safetensors out/first.safetensors
good 'greedy again' -- train in/two.csv "${full[@]}" --start greedy
cmp -s <("$advgp" predict out/m.safetensors in/two.csv -q) <("$advgp" predict out/first.safetensors in/two.csv -q) || tell '--start greedy is not the same twice'
# One step from a model is as good as it was; from nothing it is not. Columns in another order, in other units.
awk -F, -v OFS=, 'NR == 1 { print "y", "x2", "x1"; next } { print $3, $2, $1 }' in/two.csv >in/turned.csv
good 'from a model' -- train in/turned.csv "${y[@]}" --start out/first.safetensors --epochs 1 --batch full --json -o out/first.safetensors
close_to 'from a model' "$(number rmse)" "$shuffled" 0.1
awk -F, -v OFS=, '{ print NR == 1 ? "instant" : NR * 7 % 61, $0 }' in/turned.csv >in/today.csv # a column that the model does not know
good 'from a model, a column more' "column 'instant' is left out: the model of --start does not know it" -- train in/today.csv "${y[@]}" --start out/first.safetensors --epochs 1 --batch full --json -o out/today.safetensors
good 'its shape is kept' 'inducing points          20 ' -- train in/turned.csv "${y[@]}" --start out/first.safetensors --dry-run
# Cells: how large, how far they see, where they are; their errors add up to that of all rows, and the worst are where it is.
awk -F, -v OFS=, 'NR > 1 && $1 > 0.75 { $3 += 20 * (NR * 7919 % 1000 / 1000 - 0.5) } 1' in/two.csv >in/rough.csv
good 'cells' -- train in/rough.csv "${y[@]}" --method advgp -m 10 --components 1 --epochs 2 --cells 6 --noise constant -o out/cells.safetensors
good 'inspect cells' '' -- inspect out/cells.safetensors
grep -q '6 cells beside them' said.out && grep -q 'rows$' said.out && grep -q 'around x' said.out || tell "inspect shows no cells: $(cat said.out)"
good 'cells in JSON' -- inspect out/cells.safetensors --json
cp said.out out/cells.json
good 'evaluate by cell' -- evaluate out/cells.safetensors in/rough.csv
grep -A 2 'the worst of 6 cells' said.out | grep -q '^cell' && grep -q ' around x' said.out || tell "evaluate shows no cells: $(cat said.out)"
good 'evaluate by cell in JSON' -- evaluate out/cells.safetensors in/rough.csv --json
perl -MJSON::PP -e 'local $/; my ($m, $e) = map { open my $f, "<", $_; decode_json(<$f>) } @ARGV; my ($rows, $squares, $worst) = (0, 0);
  for my $c (@{$e->{cells}}) { $rows += $c->{rows}; $squares += $c->{rows} * $c->{rmse} ** 2; $worst = $c if !$worst || $c->{rmse} > $worst->{rmse} }
  $rows == $e->{rows} or die "cells have $rows rows of $e->{rows}\n";
  abs(sqrt($squares / $rows) / $e->{rmse} - 1) < 1e-9 or die "cells have an RMSE of ", sqrt($squares / $rows), ", all rows $e->{rmse}\n";
  my $cells = $m->{cells}; my $in = $cells->{list}[$worst->{cell} - 1];
  $in->{centre}{x1} > 0.7 && $worst->{around}{x1} == $in->{centre}{x1} or die "the worst cell is around x1 = $in->{centre}{x1}\n";
  $worst->{training_rows} == $in->{rows} or die "training rows differ\n";
  $_->{rows} >= $cells->{rows}{least} && $_->{rows} <= $cells->{rows}{most} && $_->{length_scales}{x1} >= $cells->{length_scales}{x1}{least}
    or die "cell $_->{cell} is beyond what all have\n" for @{$cells->{list}};' out/cells.json said.out 2>said.err || tell "cells: $(cat said.err)"
good 'pack' -- pack in/two.csv "${y[@]}" --values float64 -o out/packed
good 'train what was packed' -- train out/packed "${full[@]:2}"
close_to 'packed against direct' "$(number rmse)" "$shuffled" 1e-6
good 'pack to float32, over it' -- pack in/two.csv "${y[@]}" --json -o out/packed
[[ $(number rows) == 2000 ]] || tell "pack --json: $(cat said.out)"
good 'train float32' -- train out/packed "${full[@]:2}"
close_to 'float32 against direct' "$(number rmse)" "$shuffled" 0.02
good 'cache' -- train in/two.csv "${full[@]}" --cache out
close_to 'cache against direct' "$(number rmse)" "$shuffled" 0.02
good 'cache again' 'packed earlier' -- train in/two.csv "${full[@]}" --cache out
close_to 'cache again' "$(number rmse)" "$shuffled" 0.02
# The same rows are taken again; others are packed: other bytes, another seed, a file more in the folder, other held-out rows.
again() { good "$1" 'packed earlier' "${@:2}"; }
fresh() { good "$@"; ! grep -q 'packed earlier' said.err || tell "$1: rows of an earlier pack were taken"; }
mkdir in/cached && cp in/two.csv in/cached/a.csv && cp in/held.csv in/held2.csv
c=("${quick[@]}" --cache out/new-cache)
fresh 'a folder is packed'       -- train in/cached "${c[@]}"
again 'a folder again'           -- train in/cached "${c[@]}" --test in/held.csv
fresh 'a folder, another seed'   -- train in/cached "${c[@]}" --seed 3
fresh 'a folder, other columns'  -- train in/cached "${c[@]}" --exclude x2
cp in/held.csv in/cached/b.csv
fresh 'a folder with one more'   -- train in/cached "${c[@]}"
[[ $(number rows) -gt 1950 ]] || tell "a folder with one more: $(number rows) rows"
fresh 'a pattern'                -- train 'in/cached/*.csv' "${c[@]}"
again 'a pattern again'          -- train 'in/cached/*.csv' "${c[@]}"
table 900 8 >in/cached/b.csv
fresh 'a pattern of other bytes' -- train 'in/cached/*.csv' "${c[@]}"
good 'held-out file, in memory'  -- train in/two.csv "${quick[@]}" --validation in/held2.csv
direct=$(number rmse)
fresh 'held-out file'            -- train in/two.csv "${c[@]}" --validation in/held2.csv
close_to 'held-out file' "$(number rmse)" "$direct" 1e-3
[[ $(number rows) == 2000 ]] || tell "held-out file: $(number rows) training rows"
again 'held-out file again'      -- train in/two.csv "${c[@]}" --validation in/held2.csv
table 100 10 >in/held2.csv
fresh 'other held-out rows'      -- train in/two.csv "${c[@]}" --validation in/held2.csv
fresh 'a pipe'                   -- train - "${c[@]}" <in/two.csv
fresh 'another pipe'             -- train - "${c[@]}" <in/good.csv
[[ $(number rows) == "$rows" ]] || tell "another pipe: $(number rows) rows"
for f in out/new-cache/*/manifest.json; do printf '{}' >"$f"; done
good 'a damaged cache' 'packed again' -- train 'in/cached/*.csv' "${c[@]}"
again 'mended'                   -- train 'in/cached/*.csv' "${c[@]}"
rm -rf in/cached
good 'pack a query' -- pack in/left.csv in/right.csv --target y --sql 'SELECT x1, x2, y FROM "left" JOIN "right" USING (id)' -o out/joined
good 'train a packed query' -- train out/joined "${quick[@]:2}"
good 'its query is kept' -- predict out/m.safetensors in/left.csv in/right.csv -o out/p.csv
[[ $(wc -l <out/p.csv) == $((rows + 1)) ]] || tell "predicting a packed query gave $(wc -l <out/p.csv) lines"

rm -rf out && mkdir out
before=$(state)
good 'dry run' 'would train' 'x1' 'an option asks for it' 'to come: one component instead of a sum of four' -- train in/good.csv "${y[@]}" --dry-run -o out/dry.safetensors --log out/log --checkpoint out/c
[[ $(state) == "$before" ]] || tell "--dry-run wrote: $(ls -R out)"
good 'dry run in JSON' -- train in/good.csv "${y[@]}" --dry-run --json -o out/dry.safetensors
grep -q '"plan": \[{"choice": "method", "value": "exact", "origin": "rule"' said.out && grep -q '"read": "number"' said.out || tell "--dry-run --json has no plan: $(cat said.out)"
[[ $(number training_rows) -gt 0 && $(number target/name) == y && $(number method) == exact && $(number model) == out/dry.safetensors ]] ||
  tell "--dry-run --json: $(cat said.out)"
[[ $(wc -l <said.out) == 1 && $(state) == "$before" ]] || tell "--dry-run --json: more than an object, or something written"

# What is said is so.
table 600 >in/600.csv
said=(--target y -m 5 --components 1 --epochs 2 -o out/said.safetensors)
good 'nothing held out' '600 training rows, each left out in turn' -- train in/600.csv "${said[@]}" --validation 0
good 'too few to hold out' 'training rows, each left out in turn' -- train in/good.csv "${said[@]}"
awk -F, -v OFS=, 'NR == 1 { $4 = "flag" } NR > 1 { $4 = NR % 2 ? "yes" : "no" } 1' in/600.csv >in/flags.csv
good 'yes and no' -- train in/flags.csv "${said[@]}" -q
printf 'x1,x2,flag\n0.1,0.2,no\n0.3,0.4,maybe\n' >in/maybe.csv
good 'neither yes nor no' "'flag' holds 1 values that are no numbers, as in 'maybe'" -- predict out/said.safetensors in/maybe.csv
good 'a name with blanks around it' -- train in/600.csv --target ' y' --features 'x1 , x2' -m 5 --epochs 1 -q -o out/blanks.safetensors
sed 's/,y$/, y/' in/gaps.csv >in/blanks.csv # its header has a blank, too
good 'the same name everywhere' "without a value of 'y'" -- train in/blanks.csv --target 'y ' --exclude ' x2' -m 5 --components 1 --epochs 1 -o out/blanks.safetensors
[[ $(grep -c 'without a value' said.err) == 1 ]] || tell "one target has two names: $(cat said.err)"
good 'packed' -- pack in/600.csv --target ' y' -q -o out/blanks.packed
good 'packed, its target with a blank' -- train out/blanks.packed --target 'y ' -m 5 --components 1 --epochs 1 -q -o out/blanks.safetensors
good 'judged by a name with a blank' -- evaluate out/blanks.safetensors in/600.csv --by ' x1' -q
good 'kept by a name with a blank' -- predict out/blanks.safetensors in/600.csv --keep 'y ' -q -o out/p.csv
rm -r out/blanks.packed

# What notes advise can be typed as it stands there, and does what they say: the note is gone.
table 1200 | awk -F, -v OFS=, 'NR == 1 { print $0, "row id", "day", "order date", "much" } NR > 1 {
  print $1, $2, $3 - 3 + 1.1, NR, 20200100 + NR % 28 + 1, sprintf("%02d/%02d/2020", NR % 12 + 1, NR % 11 + 1), NR % 100 ? NR % 13 + $1 : "a lot" }' >in/advice.csv
good 'advice' -- train in/advice.csv "${y[@]}" --dry-run
grep 'note: .*--' said.err >notes
n_advice=0
while IFS= read -r note; do
  while IFS= read -r advice; do
    n_advice=$((n_advice + 1))
    eval "words=($advice)"
    if [[ $advice == '--dirty error' ]]; then
      bad "advice: $advice" 3 "'much' holds 'a lot'" 'leave out --dirty error' -- train in/advice.csv "${y[@]}" --dry-run "${words[@]}"
      continue
    fi
    good "advice: $advice" -- train in/advice.csv "${y[@]}" --dry-run "${words[@]}"
    ! grep -qxF -- "$note" said.err || tell "advice: $advice does not help: $note"
  done < <(grep -oE -- "--[a-z-]+ ('[^']*'|[a-z]+)| or '[^']*=%[^']*'" <<<"$note" | sed "s/^ or /--date-format /")
done <notes
for option in bounds encode date-format dirty; do grep -q -- "--$option " notes || tell "no advice of --$option: $(cat notes)"; done
(( n_advice >= 6 )) || tell "only $n_advice advices: $(cat notes)"

# All that is left out is named: a line each, or where they are many, one with all names.
for n in 9 14; do
  table 300 | awk -F, -v OFS=, -v n=$n '{ for (k = 1; k <= n; k++) $(3 + k) = NR == 1 ? "words" k : "w" k "_" NR } 1' >in/left.csv
  good "$n columns left out" -- train in/left.csv "${y[@]}" --dry-run
  for ((k = 1; k <= n; k++)); do grep -qw "words$k" said.err || tell "$n columns left out: words$k is not named: $(cat said.err)"; done
  [[ $(grep -c 'left out' said.err) == $((n == 9 ? 9 : 1)) ]] || tell "$n columns left out: $(cat said.err)"
done
awk -F, -v OFS=, 'NR == 1 { $4 = "late" } NR > 1 { $4 = NR == 30000 ? "a word" : NR % 7 + NR / 1000 } 1' <(head -1 in/600.csv; for i in {1..60}; do tail -n +2 in/600.csv; done) >in/late.csv
good 'a word after the first rows' "'late' holds 1 values that are no numbers, as in 'a word' (row 29999)" -- \
  train in/late.csv --target y -m 5 --components 1 --epochs 1 -o out/late.safetensors
awk -F, -v OFS=, 'NR == 1 { $4 = "when" } NR > 1 { $4 = sprintf("%02d/%02d/%02d", NR % 28 + 1, NR % 12 + 1, 10 + NR % 3) } 1' in/600.csv >in/short.csv
good 'years of two digits' "'when' has years of two digits" -- train in/short.csv --target y -m 5 --components 1 --epochs 1 -o out/x.safetensors
good 'the format of short years' -- train in/short.csv --target y -m 5 --components 1 --epochs 1 -q --date-format when=%d/%m/%y -o out/x.safetensors
# With a delay a version may see more rows than it must; the end is not before the present.
good 'epochs of a delay' -- train in/600.csv --target y -m 5 --components 1 --epochs 40 --batch 100 --workers 4 --max-delay 20 --patience inf -o out/said.safetensors
awk '/ epoch [0-9.]+ of / { n++; for (i = 1; i < NF; i++) if ($i == "of" && $(i + 1) < $(i - 1)) exit 1 } END { if (!n) exit 1 }' said.err || tell "epochs: $(cat said.err)"
good 'workers are reduced once' -- train in/600.csv "${said[@]}" --workers 1000
[[ $(grep -c 'workers reduced' said.err) == 1 ]] || tell "workers: $(cat said.err)"
(ulimit -v 2500000; "${bounded[@]}" "$advgp" train in/600.csv "${said[@]}" --workers 1000) >said.out 2>said.err
(( $(grep -c 'workers reduced' said.err) <= 1 )) || tell "workers, little memory: $(cat said.err)"
rm -f out/said.safetensors

good 'log' -- train in/two.csv "${full[@]}" --log out/run.jsonl
perl -MJSON::PP -e 'my ($n, %seen) = (0); while (<>) { my $o = decode_json($_); $seen{$o->{event} // "none"}++;
    if (($o->{event} // "") eq "eval") { exists $o->{$_} or die "an eval lacks $_\n" for qw(time cpu rows version neg_elbo rmse mnlp) }
    $n++ == 0 and ($o->{event} eq "manifest" or die "the first line is $o->{event}\n") }
  $seen{eval} > 3 && $seen{done} == 1 or die "events: ", join(" ", %seen), "\n"' out/run.jsonl 2>said.err || tell "log: $(cat said.err)"
good 'quiet' -- train in/good.csv "${quick[@]}" --quiet
[[ ! -s said.err ]] || tell "--quiet said: $(cat said.err)"
good 'twice the same' -- train in/two.csv "${full[@]}"
good 'inspect' -- inspect out/m.safetensors --json
cp said.out out/first.json
good 'twice the same' -- train in/two.csv "${full[@]}"
good 'inspect' -- inspect out/m.safetensors --json
diff <(sed -E 's/"(wall|cpu)_seconds": [0-9.e-]+//g' out/first.json) <(sed -E 's/"(wall|cpu)_seconds": [0-9.e-]+//g' said.out) >/dev/null ||
  tell 'two runs of one seed differ'
printf 'x1,x2,y\n0.5,0.5,1\n' >out/one.csv
good 'predict' -- predict out/m.safetensors out/one.csv
[[ -z $(find out -name '*.checkpoint' -o -name '.advgp*') ]] || tell "left behind: $(find out)"

end_report 60
