#!/usr/bin/env bash
# What train refuses, one line a case: exit code, what the message must name, the arguments.
#   train_bad.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

# ---- tables -----------------------------------------------------------------------------------------------------------
table 60 >in/good.csv
: >in/empty.csv
echo x1,x2,y >in/header.csv
table 1 >in/one.csv
table 9 >in/nine.csv
with delay.csv 'NR == 1 { $3 = "delay" } 1'
with twice.csv 'NR == 1 { $2 = "x1" } 1'
with ragged.csv 'NR == 31 { $0 = $0 ",7" } 1'
with short.csv 'NR == 31 { $0 = $1 } 1'
with text.csv 'NR == 31 { $3 = "plenty" } 1'
with textx.csv 'NR == 31 { $1 = "about 3" } 1'
with constant.csv 'NR > 1 { $3 = 4.25 } 1'
for size in e-200 e160 e307; do
  with "target$size.csv" "NR > 1 { \$3 = \$3 \"$size\" } 1"
  with "input$size.csv" "NR > 1 { \$1 = \$1 \"$size\" } 1"
  with "weight$size.csv" "{ \$4 = NR == 1 ? \"w\" : \"1$size\" } 1"
done
with notarget.csv 'NR > 1 { $3 = "" } 1'
with nantarget.csv 'NR > 1 { $3 = "nan" } 1'
with inftarget.csv 'NR > 1 { $3 = NR % 2 ? "inf" : "" } 1'
with few.csv 'NR > 10 { $3 = "" } 1'
with allmissing.csv 'NR > 1 { $1 = $2 = "" } 1'
with allconstant.csv 'NR > 1 { $1 = $2 = 7 } 1'
with dates.csv 'NR > 1 { $3 = sprintf("2024-01-%02d", NR % 28 + 1) } 1'
with zero.csv 'NR == 31 { $3 = -0.1 } 1'
with weights.csv '{ $4 = NR == 1 ? "w" : NR == 31 ? -2 : 1 } 1'
with weightless.csv '{ $4 = NR == 1 ? "w" : 0 } 1'
with badweight.csv '{ $4 = NR == 1 ? "w" : NR == 31 ? "" : 1 } 1'
with textweight.csv '{ $4 = NR == 1 ? "w" : NR == 31 ? "heavy" : 1 } 1'
with gap.csv 'NR == 31 { $2 = "" } 1'
with quote.csv 'NR == 31 { $2 = "\"open" } 1'
with names.csv 'BEGIN { OFS = "," } { $1 = NR == 1 ? "name" : "person number " NR; $2 = NR == 1 ? "note" : "remark " NR * 7 } 1'
with onegroup.csv '{ $4 = NR == 1 ? "g" : "a" } 1'
printf 'BZh91AY&SY' >in/a.csv.bz2
printf '\xfd7zXZ\0\0' >in/a.csv.xz
printf 'PK\3\4' >in/a.xlsx
table 60 | tr , '#' >in/delimiter.csv
table 60 | sed 's/,.*//' >in/column.csv
head -c 20000 /dev/urandom >in/junk.csv
head -c 20000 /dev/urandom >in/junk.parquet
printf 'PAR1 is all there is of it' >in/short.parquet
{ printf '\037\213'; head -c 500 /dev/urandom; } >in/junk.csv.gz
table 5000 | gzip | head -c 30000 >in/cut.csv.gz
table 60 | tail -n +2 >in/bare.csv
sed 's/^/a/' in/bare.csv >in/rows.csv
{ printf 'what was measured\n\n'; table 60; } >in/title.csv
table 60 | awk -F, '{ printf "%20s %20s %20s\n", $1, $2, $3 }' >in/aligned.txt
printf '{"x1": 1, "y": \n' >in/broken.jsonl
{ table 30; head -c 5000000 /dev/zero | tr '\0' x; echo ',1,2'; } >in/line.csv
{ echo x1,x2,y; head -c 5000000 /dev/zero | tr '\0' 7; } >in/endless.csv
{ table 60; printf 'a\0b,1,2\n'; } >in/nul.csv
mkdir -p in/folder in/disagree in/fewer
echo nothing >in/folder/readme.md
table 30 >in/disagree/a.csv
table 30 2 | sed '1s/x2/z2/' >in/disagree/b.csv
table 30 >in/fewer/a.csv
table 30 2 | cut -d, -f1,3 >in/fewer/b.csv
table 60 3 | sed '1s/y/why/' >in/validation.csv
table 60 3 | cut -d, -f2,3 >in/lacking.csv
echo 'inducing = 5' >in/good.conf
printf 'target = y\n\ninducin = 5\n' >in/key.conf
printf 'target = y\ninducing = many\n' >in/value.conf
printf 'target y\n' >in/shape.conf
printf 'inducing = 5\ninducing = 6\n' >in/twice.conf
printf '\001\002\003' >in/binary.conf
ln -s loop in/loop

# An output that was there before: it must survive every refusal.
looks_like model >out/model.safetensors
o=(-o out/model.safetensors)
t() { bad "$1" "${@:2}" "${o[@]}"; } # every case writes there, if it writes
y=(--target y)

# ---- files ------------------------------------------------------------------------------------------------------------
t 'no such file'             3 'in/absent.csv' 'No such file' -- train in/absent.csv "${y[@]}"
t 'second file missing'      3 'in/absent.csv' -- train in/good.csv in/absent.csv "${y[@]}"
t 'empty file'               3 'in/empty.csv' 'empty' -- train in/empty.csv "${y[@]}"
t 'header only'              3 'in/header.csv' 'no rows' -- train in/header.csv "${y[@]}"
t 'one row'                  3 'in/one.csv' 'at least 10' -- train in/one.csv "${y[@]}"
t 'nine rows'                3 'in/nine.csv' '9 usable rows' 'at least 10' -- train in/nine.csv "${y[@]}"
t '/dev/null'                3 '/dev/null' 'empty' -- train /dev/null "${y[@]}"
t 'empty standard input'     3 'standard input' 'empty' -- train - "${y[@]}" </dev/null
t 'a folder without data'    3 'in/folder' 'no data file' -- train in/folder "${y[@]}"
t 'a glob of nothing'        3 'in/none*.csv' 'no file matches' -- train 'in/none*.csv' "${y[@]}"
t 'a link to itself'         3 'in/loop' -- train in/loop "${y[@]}"
t 'a path through a file'    3 'in/good.csv/x' -- train in/good.csv/x "${y[@]}"
t 'files that disagree'      3 'in/disagree/b.csv' 'z2' 'agree' -- train in/disagree "${y[@]}"
t 'a file that lacks one'    3 'in/fewer/b.csv' 'x2' 'agree' -- train 'in/fewer/*.csv' "${y[@]}"
t 'junk as CSV'              3 'in/junk.csv' -- train in/junk.csv "${y[@]}"
t 'junk as Parquet'          3 'in/junk.parquet' 'Parquet' -- train in/junk.parquet "${y[@]}"
t 'a cut-off Parquet'        3 'in/short.parquet' 'Parquet' -- train in/short.parquet "${y[@]}"
t 'junk as gzip'             3 'in/junk.csv.gz' 'gzip' -- train in/junk.csv.gz "${y[@]}"
t 'gzip that was cut off'    3 'in/cut.csv.gz' 'cut off' -- train in/cut.csv.gz "${y[@]}"
t 'no header line'           3 'in/bare.csv' "'y'" 'c1, c2, c3' 'header' -- train in/bare.csv "${y[@]}"
t 'broken JSON'              3 'in/broken.jsonl' 'JSON' -- train in/broken.jsonl "${y[@]}"
t 'a line of megabytes'      3 'in/line.csv' -- train in/line.csv "${y[@]}"
t 'a number without an end'  3 'in/endless.csv' -- train in/endless.csv "${y[@]}"
t 'zero bytes'               3 'in/nul.csv' -- train in/nul.csv "${y[@]}"
echo 'a model of last week' >in/model.safetensors
t 'a model as data'          3 'in/model.safetensors' -- train in/model.safetensors "${y[@]}"

# ---- columns ----------------------------------------------------------------------------------------------------------
t 'no such target'           3 "in/delay.csv" "'dalay'" "'delay'" -- train in/delay.csv --target dalay
t 'nothing like the target'  3 "'profit'" 'x1' 'x2' -- train in/good.csv --target profit
t 'no such feature'          3 "'x3'" 'x1, x2, y' -- train in/good.csv "${y[@]}" --features x3,x2
t 'no such exclude'          3 "'x9'" -- train in/good.csv "${y[@]}" --exclude x9
t 'no such weights'          3 "'weigth'" -- train in/good.csv "${y[@]}" --weights weigth
t 'no such group'            3 "'store'" -- train in/good.csv "${y[@]}" --validation group:store
t 'no such encode'           3 "'x7'" -- train in/good.csv "${y[@]}" --encode x7=onehot
t 'duplicate columns'        3 'in/twice.csv' 'x1' -- train in/twice.csv "${y[@]}"
t 'target as feature'        2 "'y'" '--features' -- train in/good.csv "${y[@]}" --features x1,y
t 'both wanted and excluded' 2 "'x1'" '--features' '--exclude' -- train in/good.csv "${y[@]}" --features x1,x2 --exclude x1
t 'target excluded'          2 "'y'" 'excluded' -- train in/good.csv "${y[@]}" --exclude y
t 'target as weights'        2 "'y'" 'weights' -- train in/good.csv "${y[@]}" --weights y
t 'weights as feature'       2 "'x1'" '--features' -- train in/good.csv "${y[@]}" --weights x1 --features x1,x2
t 'all columns excluded'     3 'in/good.csv' 'predict from' -- train in/good.csv "${y[@]}" --exclude x1,x2
t 'wrong delimiter'          3 'in/delimiter.csv' "'y'" 'x1#x2#y' -- train in/delimiter.csv "${y[@]}"
t 'bzip2'                    3 'in/a.csv.bz2' 'bzip2' 'bzcat' -- train in/a.csv.bz2 "${y[@]}"
t 'xz'                       3 'in/a.csv.xz' 'xz' 'xzcat' -- train in/a.csv.xz "${y[@]}"
t 'a workbook'               3 'in/a.xlsx' 'workbook' 'as CSV' -- train in/a.xlsx "${y[@]}"
t 'one column'               3 'in/column.csv' "'y'" -- train in/column.csv "${y[@]}"
t 'only free text'           3 'free text' '--encode' -- train in/names.csv "${y[@]}"
t 'a format that fits nothing' 3 '--date-format x1=%Y' 'in/good.csv, row 1' -- train in/good.csv "${y[@]}" --date-format x1=%Y
t 'dates as target'          3 "'y'" 'dates' -- train in/dates.csv "${y[@]}"

# ---- values -----------------------------------------------------------------------------------------------------------
t 'a row too long'           3 'in/ragged.csv' '31' -- train in/ragged.csv "${y[@]}"
t 'a row too short'          3 'in/short.csv' '31' -- train in/short.csv "${y[@]}"
t 'an open quote'            3 'in/quote.csv' -- train in/quote.csv "${y[@]}"
t 'text in the target'       3 'in/text.csv' "'y'" "'plenty'" '30' -- train in/text.csv "${y[@]}"
t 'text among numbers'       3 'in/textx.csv' "'x1'" "'about 3'" '--na' '--encode' -- train in/textx.csv "${y[@]}" --dirty error
t 'a title above the header' 3 'in/title.csv, line 3' 'begin with #' -- train in/title.csv "${y[@]}"
t 'columns that are aligned' 3 'in/aligned.txt' '--delimiter' "tr -s ' '" -- train in/aligned.txt "${y[@]}"
t 'no header, with text'     3 'in/rows.csv' '--header no' -- train in/rows.csv --target c3
for size in e-200 e160 e307; do
  t "a target of $size"      3 "'y'" 'double precision' '--sql' '--log-target' -- train "in/target$size.csv" "${y[@]}"
  t "an input of $size"      3 "'x1'" 'double precision' "--exclude 'x1'" -- train "in/input$size.csv" "${y[@]}"
  t "a weight of $size"      3 "'w'" 'double precision' '--sql' -- train "in/weight$size.csv" "${y[@]}" --weights w
done
t 'counts without weights'   2 '--weights-are' '--weights COL' -- train in/good.csv "${y[@]}" --weights-are counts
t 'constant target'          3 "'y'" '4.25' -- train in/constant.csv "${y[@]}"
t 'no target value at all'   3 'in/notarget.csv' '60 without target' -- train in/notarget.csv "${y[@]}"
t 'only NaN             '    3 'in/nantarget.csv' '60 without target' -- train in/nantarget.csv "${y[@]}"
t 'only infinities'          3 'in/inftarget.csv' '60 without target' -- train in/inftarget.csv "${y[@]}"
t 'few target values'        3 'in/few.csv' '9 usable rows' '51 without target' -- train in/few.csv "${y[@]}"
t 'all inputs missing'       3 'predict from' 'missing' -- train in/allmissing.csv "${y[@]}"
t 'all inputs constant'      3 'predict from' 'constant' -- train in/allconstant.csv "${y[@]}"
t 'negative logarithm'      3 'in/zero.csv' 'row 30' "'y'" '--log-target' -- train in/zero.csv "${y[@]}" --log-target
t 'negative weight'          3 'in/weights.csv' 'row 30' "'w'" '-2' -- train in/weights.csv "${y[@]}" --weights w
t 'all weights 0'            3 'in/weightless.csv' '60 of weight 0' -- train in/weightless.csv "${y[@]}" --weights w
t 'missing weight'           3 'in/badweight.csv' 'row 30' "'w'" -- train in/badweight.csv "${y[@]}" --weights w
t 'text as weight'           3 'in/textweight.csv' "'w'" "'heavy'" -- train in/textweight.csv "${y[@]}" --weights w
t 'missing refused'          3 'in/gap.csv' 'row 30' "'x2'" '--missing' -- train in/gap.csv "${y[@]}" --missing error

# ---- options ----------------------------------------------------------------------------------------------------------
t 'no target named'          2 '--target' -- train in/good.csv
t 'no data named'            2 'DATA' -- train "${y[@]}"
t 'unknown option'           2 '--epocs' '--epochs' -- train in/good.csv "${y[@]}" --epocs 3
t 'option of another verb'   2 '--interval' -- train in/good.csv "${y[@]}" --interval 0.9
t 'out of range'             2 '--inducing' '0' '20000' -- train in/good.csv "${y[@]}" --inducing 0
t 'negative number'          2 '--seed' '-1' -- train in/good.csv "${y[@]}" --seed -1
t 'no number'                2 '--epochs' 'ten' -- train in/good.csv "${y[@]}" --epochs ten
t 'not a whole number'       2 '-m' '5.5' -- train in/good.csv "${y[@]}" -m 5.5
t 'a number too large'       2 '--seed' -- train in/good.csv "${y[@]}" --seed 99999999999999999999
t 'infinite where it is not' 2 '--step' -- train in/good.csv "${y[@]}" --step inf
t 'not a choice'             2 '--kernel' 'rbf' 'ard-rbf' -- train in/good.csv "${y[@]}" --kernel rbf
t 'option twice'             2 '--target' 'twice' -- train in/good.csv "${y[@]}" --target x1
t 'option without value'     2 '--epochs' 'value' -- train in/good.csv "${y[@]}" --epochs
t 'empty target'             2 '--target' -- train in/good.csv --target=
t 'bad fraction'             2 '--validation' '0.9' -- train in/good.csv "${y[@]}" --validation 0.9
t 'bad last'                 2 '--validation' 'last:2' -- train in/good.csv "${y[@]}" --validation last:2
t 'group of nothing'         2 '--validation' -- train in/good.csv "${y[@]}" --validation group:
t 'bad encoding'             2 '--encode' 'x1=magic' -- train in/good.csv "${y[@]}" --encode x1=magic
t 'no validation file'       3 'in/absent.csv' -- train in/good.csv "${y[@]}" --validation in/absent.csv
t 'no target to validate'    3 'in/validation.csv' "'y'" -- train in/good.csv "${y[@]}" --validation in/validation.csv
t 'no input to validate'     3 'in/lacking.csv' "'x1'" -- train in/good.csv "${y[@]}" --validation in/lacking.csv
t 'no test file'             3 '--test' 'in/absent.csv' -- train in/good.csv "${y[@]}" --test in/absent.csv
t 'no target to test'        3 '--test' 'in/validation.csv' "'y'" -- train in/good.csv "${y[@]}" --test in/validation.csv
t 'no rows to test'          3 '--test' 'in/header.csv' -- train in/good.csv "${y[@]}" --test in/header.csv
t 'no config file'           3 'in/absent.conf' -- train in/good.csv "${y[@]}" --config in/absent.conf
t 'config with a bad key'    2 'in/key.conf' '3' 'inducin' 'inducing' -- train in/good.csv --config in/key.conf
t 'config with a bad value'  2 'in/value.conf' '2' 'many' -- train in/good.csv --config in/value.conf
t 'config without a ='       2 'in/shape.conf' '1' -- train in/good.csv --config in/shape.conf
t 'config twice the same'    2 'in/twice.conf' 'inducing' -- train in/good.csv "${y[@]}" --config in/twice.conf
t 'config of bytes'          2 'in/binary.conf' -- train in/good.csv "${y[@]}" --config in/binary.conf
t 'config is a folder'       3 'in/folder' -- train in/good.csv "${y[@]}" --config in/folder
t 'SQL with a typo'          2 '--sql' 'syntax error' -- train in/good.csv "${y[@]}" --sql 'SELEC * FROM data'
t 'SQL of no such table'     2 '--sql' 'bad' -- train in/good.csv "${y[@]}" --sql 'SELECT * FROM bad'
t 'SQL of no such column'    2 '--sql' 'x9' -- train in/good.csv "${y[@]}" --sql 'SELECT x9, y FROM good'
t 'SQL without the target'   3 "'y'" -- train in/good.csv "${y[@]}" --sql 'SELECT x1, x2 FROM good'
t 'SQL of no rows'           3 'no rows' -- train in/good.csv "${y[@]}" --sql 'SELECT * FROM good WHERE x1 > 5'
t 'SQL that writes'          2 '--sql' -- train in/good.csv "${y[@]}" --sql "COPY good TO 'out/copy.csv'"
t 'SQL of two statements'    2 '--sql' -- train in/good.csv "${y[@]}" --sql "SELECT 1; SELECT * FROM good"
t 'SQL that breaks on a row' 3 '--sql' -- train in/good.csv "${y[@]}" --sql "SELECT CAST('a' || x1 AS DOUBLE) x1, y FROM good"
t 'SQL with two of a name'   2 'good' '--sql' -- train in/good.csv in/folder/../good.csv "${y[@]}" --sql 'SELECT * FROM good'

# ---- where it goes ----------------------------------------------------------------------------------------------------
quick=("${y[@]}" --epochs 1 -m 5)
mkdir out/taken
bad 'output is a folder'     1 'out/taken' 'directory' -- train in/good.csv "${quick[@]}" -o out/taken
bad 'output in no folder'    1 'out/absent/m.safetensors' -- train in/good.csv "${quick[@]}" -o out/absent/m.safetensors
bad 'output under a file'    1 'in/good.csv/m' -- train in/good.csv "${quick[@]}" -o in/good.csv/m
bad 'output in /proc'        1 '/proc/m.safetensors' -- train in/good.csv "${quick[@]}" -o /proc/m.safetensors
bad 'output without a name'  2 '--output' -- train in/good.csv "${quick[@]}" --output=
bad 'output is the data'     2 'in/good.csv' -- train in/good.csv "${quick[@]}" -o in/good.csv
bad 'checkpoint in no folder' 1 'out/absent/c' -- train in/good.csv "${quick[@]}" "${o[@]}" --checkpoint out/absent/c
bad 'checkpoint is the data' 2 'in/good.csv' -- train in/good.csv "${quick[@]}" "${o[@]}" --checkpoint in/good.csv
bad 'log in no folder'       1 'out/absent/log' -- train in/good.csv "${quick[@]}" "${o[@]}" --log out/absent/log
cp out/model.safetensors out/log
bad 'log is the model'       2 'out/log' 'different' -- train in/good.csv "${quick[@]}" -o out/log --log out/log
bad 'log is the data'        2 'in/good.csv' -- train in/good.csv "${quick[@]}" "${o[@]}" --log in/good.csv
bad 'cache under a file'     1 'in/good.csv' -- train in/good.csv "${quick[@]}" "${o[@]}" --cache in/good.csv
bad 'cache in no folder'     1 '--cache' 'out/absent/cache' -- train in/good.csv "${quick[@]}" "${o[@]}" --cache out/absent/cache
bad 'nothing left of a cache' 3 'in/few.csv' -- train in/few.csv "${quick[@]}" "${o[@]}" --cache out/newcache
cmp -s <(table 60) in/good.csv || tell 'the data were overwritten'
mkdir small
if mount -t tmpfs -o size=8k none small 2>/dev/null; then
  mounted=$scratch/small
  # A model that has no room is kept in the temporary folder, and the message says where.
  n_cases=$((n_cases + 1))
  "$advgp" train in/good.csv "${quick[@]}" -o small/m.safetensors >said.out 2>said.err
  [[ $? == 1 ]] && grep -q 'small/m.safetensors.*space.*the model is kept in .*tmp/advgp-rescued-' said.err || tell "full disk: $(cat said.err)"
  [[ -z $(ls -A small) ]] || tell "full disk: left behind $(ls -A small)"
  "$advgp" predict tmp/advgp-rescued-*.safetensors in/good.csv >/dev/null || tell 'full disk: no good model is kept'
  rm -f tmp/advgp-rescued-*
  # A pipe without an end stops short of filling the disk.
  TMPDIR=$scratch/small bad 'no room for a pipe' 1 'standard input' 'TMPDIR' -- train - "${quick[@]}" "${o[@]}" < <(yes 1,2,3)
  # A checkpoint that finds no room costs no run its steps: it is told, also in the log, and the model is written.
  good 'full disk: a checkpoint' 'the state could not be saved, training goes on' 'space' -- \
    train in/good.csv --target y -m 40 --components 1 --epochs 60 --batch 60 --patience inf --workers 1 --delay-worker 0:0.05 --checkpoint small/c --checkpoint-every 1 \
    --log in/full.log -o out/new.safetensors -q
  [[ -s out/new.safetensors && -z $(ls -A small) ]] || tell "full disk: a checkpoint: no model, or something left behind: $(ls -A small)"
  grep '"event":"checkpoint".*"failed":".*space' in/full.log >/dev/null || tell 'full disk: a checkpoint: the log does not tell'
  rm -f out/new.safetensors in/full.log
  umount small && mounted=
  rmdir small
else
  echo 'skipped: a full disk (no right to mount a tmpfs)'
fi
n_cases=$((n_cases + 1))
"$advgp" train in/good.csv "${quick[@]}" -o /dev/full >said.out 2>said.err
[[ $? == 1 ]] && grep -q '/dev/full.*space.*the model is kept in' said.err || tell "full device: $(cat said.err)"
rm -f tmp/advgp-rescued-*
n_cases=$((n_cases + 1))
"$advgp" train in/good.csv "${quick[@]}" -q -o out/new.safetensors >/dev/full 2>said.err
[[ $? == 1 ]] && grep -q 'standard output' said.err || tell "a full standard output: $(cat said.err)"
rm -f out/new.safetensors

# ---- checkpoints ------------------------------------------------------------------------------------------------------
table 600 4 >in/run.csv
table 500 4 >in/other.csv
table 600 4 | awk -F, -v OFS=, '{ $4 = NR == 1 ? "w" : NR % 7 } 1' >in/wider.csv
table 600 4 | cut -d, -f2- >in/narrow.csv
base=(--target y -m 5 --components 1 --epochs 1000000 --batch 100 -q)
run=(train in/run.csv "${base[@]}")
"$advgp" "${run[@]}" -o kept.safetensors --checkpoint in/kept.checkpoint --checkpoint-every 1 >/dev/null 2>&1 &
until_there in/kept.checkpoint $!
kill -INT $!
wait $!
code=$?
[[ -s in/kept.checkpoint ]] || tell "no checkpoint of an interrupted run (exit $code)"
size=$(stat -c %s in/kept.checkpoint)
head -c $((size / 2)) in/kept.checkpoint >in/cut.checkpoint
head -c $((size - 1)) in/kept.checkpoint >in/cut1.checkpoint
{ cat in/kept.checkpoint; printf x; } >in/long.checkpoint
for at in 0 20 200 400 700 $((size - 9)) $((size - 1)); do
  perl -e 'local $/; my $b = <STDIN>; substr($b, $ARGV[0], 1) ^= chr(4); print $b' "$at" <in/kept.checkpoint >"in/flip.$at"
  t "a bit at $at flipped"   4 "in/flip.$at" -- "${run[@]}" --resume "in/flip.$at"
done
t 'no checkpoint'            3 'in/absent' 'No such file' -- "${run[@]}" --resume in/absent
t 'checkpoint cut in half'   4 'in/cut.checkpoint' -- "${run[@]}" --resume in/cut.checkpoint
t 'checkpoint cut by a byte' 4 'in/cut1.checkpoint' -- "${run[@]}" --resume in/cut1.checkpoint
t 'checkpoint with more'     4 'in/long.checkpoint' -- "${run[@]}" --resume in/long.checkpoint
t 'a model to resume'        4 'kept.safetensors' 'checkpoint' -- "${run[@]}" --resume kept.safetensors
t 'data to resume'           4 'in/run.csv' -- "${run[@]}" --resume in/run.csv
t 'an empty checkpoint'      4 'in/empty.csv' -- "${run[@]}" --resume in/empty.csv
t 'a folder to resume'       4 'in/folder' -- "${run[@]}" --resume in/folder
t 'checkpoint, other rows'   2 'in/kept.checkpoint' 'rows' -- train in/other.csv "${base[@]}" --resume in/kept.checkpoint
t 'checkpoint, other column' 2 'in/kept.checkpoint' 'other data' -- train in/narrow.csv "${base[@]}" --resume in/kept.checkpoint
t 'checkpoint, other seed'   2 'in/kept.checkpoint' 'seed' -- "${run[@]}" --seed 7 --resume in/kept.checkpoint
t 'checkpoint, other batch'  2 'in/kept.checkpoint' 'batch' -- train in/run.csv --target y -m 5 --epochs 1000000 --batch 50 --resume in/kept.checkpoint
t 'checkpoint, other epochs' 2 'in/kept.checkpoint' 'steps' -- train in/run.csv --target y -m 5 --epochs 5 --batch 100 --resume in/kept.checkpoint
t 'checkpoint, more points'  2 'in/kept.checkpoint' '5 inducing inputs' 'this one has 9' -- train in/run.csv --target y -m 9 --epochs 1000000 --batch 100 --resume in/kept.checkpoint
t 'checkpoint, components'   2 'in/kept.checkpoint' 'components' -- train in/run.csv --target y -m 5 --components 2 --epochs 1000000 --batch 100 --resume in/kept.checkpoint
t 'checkpoint, other target' 2 'in/kept.checkpoint' -- train in/run.csv --target x1 "${base[@]:2}" --resume in/kept.checkpoint
t 'checkpoint, other kernel' 2 'in/kept.checkpoint' 'kernel' -- "${run[@]}" --kernel matern32 --resume in/kept.checkpoint

# ---- a model to start from ----------------------------------------------------------------------------------------------
rm -f kept.safetensors
"$advgp" train in/run.csv --target y -m 6 --components 2 --kernel matern32 --trend constant --epochs 1 -q -o in/start.safetensors >/dev/null ||
  tell 'no model to start from'
head -c 3000 in/start.safetensors >in/cutstart.safetensors
"$advgp" train in/run.csv --target y --method mean -q -o in/mean.safetensors >/dev/null || tell 'no mean to start from'
with colour.csv '{ $1 = NR == 1 ? "x1" : NR % 2 ? "red" : "blue" } 1'
echo '{"event":"manifest"}' >out/log
s=(--start in/start.safetensors --log out/log)
t 'no such way to start'     3 '--start' 'kmeans, greedy nor random' 'gready' -- train in/run.csv "${y[@]}" --start gready --log out/log
t 'data to start from'       4 '--start' 'in/run.csv' -- train in/run.csv "${y[@]}" --start in/run.csv --log out/log
t 'a folder to start from'   4 '--start' 'in/folder' -- train in/run.csv "${y[@]}" --start in/folder --log out/log
t 'a start cut off'          4 '--start' 'in/cutstart.safetensors' -- train in/run.csv "${y[@]}" --start in/cutstart.safetensors --log out/log
t 'start, more points'       2 '--inducing 9' 'in/start.safetensors' '6 inducing inputs' -- train in/run.csv "${y[@]}" "${s[@]}" -m 9
t 'start, components'        2 '--components 1' '2 components' -- train in/run.csv "${y[@]}" "${s[@]}" --components 1
t 'start, other kernel'      2 '--kernel ard-rbf' 'matern32' -- train in/run.csv "${y[@]}" "${s[@]}" --kernel ard-rbf
t 'start, other map'         2 '--map rvm' 'cholesky' -- train in/run.csv "${y[@]}" "${s[@]}" --map rvm
t 'start from a mean'        2 'in/mean.safetensors' 'cholesky' -- train in/run.csv "${y[@]}" --start in/mean.safetensors --log out/log
t 'start, other trend'       2 '--trend none' 'constant' -- train in/run.csv "${y[@]}" "${s[@]}" --trend none
t 'start, other target'      3 'in/start.safetensors' "'y'" "'x2'" -- train in/run.csv --target x2 "${s[@]}"
t 'start, a column less'     3 'in/start.safetensors' "'x1'" '--features' -- train in/narrow.csv "${y[@]}" "${s[@]}"
t 'start, logarithm'         3 'in/start.safetensors' '--log-target' -- train in/run.csv "${y[@]}" "${s[@]}" --log-target
t 'start, other encoding'    3 'in/start.safetensors' "'x1' as onehot" '--encode' -- train in/colour.csv "${y[@]}" "${s[@]}"
t 'the log is the start'     2 '--log' 'in/start.safetensors' -- train in/run.csv "${y[@]}" --start in/start.safetensors --log in/start.safetensors
echo 'the diary of last week' >out/diary
t 'bad resume, bad log'      2 'out/diary' 'no log' '--force' -- "${run[@]}" --resume in/kept.checkpoint --log out/diary
t 'forced, still no log'     4 'out/diary' -- "${run[@]}" --resume in/kept.checkpoint --log out/diary --force

# ---- memory: said before it is taken -------------------------------------------------------------------------------------
awk 'BEGIN { srand(1); print "a,b,c,d,e,y"; for (i = 0; i < 1000; i++) printf "a%d,b%d,c%d,d%d,e%d,%f\n", i, i, i, i, i, rand() }' >in/words.csv
limited() { # NAME FRAGMENT... -- ARGUMENTS: exit 2 under a limit of 3 GB, without having taken as much
  local name=$1 fragments=() code
  shift
  while [[ $1 != -- ]]; do fragments+=("$1"); shift; done
  shift
  n_cases=$((n_cases + 1))
  (ulimit -d 3000000 && exec "${bounded[@]}" "$advgp" "$@" >said.out 2>said.err)
  code=$?
  [[ $code == 2 ]] || tell "$name: exit $code, expected 2: $(tail -n 3 said.err)"
  for fragment in "${fragments[@]}"; do
    grep -q '^advgp: .* takes about .* GB of memory, and there are 3' said.err && grep -qF -- "$fragment" said.err ||
      tell "$name: no '$fragment' in: $(tail -n 1 said.err)"
  done
  [[ -z $(find out -name 'wide*') ]] || tell "$name: files are left"
}
wide=(in/words.csv "${y[@]}" -o out/wide.safetensors --encode 'a=onehot,b=onehot,c=onehot,d=onehot,e=onehot')
if grep -q 'lib[atu].*san' <<<"$(ldd "$advgp")"; then
  echo 'skipped: memory under a limit, of which a sanitizer needs more itself'
else
  limited 'many columns' '5201 features' '5000 encoded columns' '--trend constant' '--exclude' -- train "${wide[@]}" --method advgp --log out/wide.log
  limited 'many columns of linear regression' '5000 encoded columns' '--exclude' -- train "${wide[@]}" --method linear
fi

# ---- numbers at the ends of what a double can say: a model with a page, whose answers are finite or missing, or a sentence
extreme() { # NAME AWK: of 200 rows; v is the number with either sign
  local code
  n_cases=$((n_cases + 1))
  table 200 | awk -F, -v OFS=, -v CONVFMT=%.17g "NR > 1 { v = (NR % 4 < 2 ? \"-\" : \"\") \"$3\"; $2 } 1" >in/extreme.csv
  rm -f out/extreme.* out/answers.csv
  "${bounded[@]}" "$advgp" train in/extreme.csv "${y[@]}" --method linear -q -o out/extreme.safetensors --report out/extreme.html >said.out 2>said.err
  code=$?
  if [[ $code == 0 ]]; then
    "${bounded[@]}" "$advgp" predict out/extreme.safetensors in/extreme.csv -q -o out/answers.csv >said.out 2>said.err || tell "$1 of $3: predict: $(cat said.err)"
    [[ $(wc -l <out/answers.csv) == 201 ]] || tell "$1 of $3: $(wc -l <out/answers.csv) lines"
    ! grep -qiE 'nan|inf' out/answers.csv || tell "$1 of $3: an answer that is no number"
    grep -q '</html>' out/extreme.html || tell "$1 of $3: no page"
  else
    [[ $code == 3 && ! -e out/extreme.safetensors && ! -e out/extreme.html ]] && grep -q "^advgp: .*double precision" said.err ||
      tell "$1 of $3: exit $code: $(tail -n 3 said.err)"
  fi
}
for size in 1.7976931348623157e308 9e307 1e200 1e160 1e-160 1e-200 1e-308 5e-324; do
  extreme 'a target' 'if (NR == 78) $3 = v' $size
  extreme 'targets' 'if (NR % 10 < 2) $3 = v' $size
  extreme 'an input' 'if (NR == 78) $1 = v' $size
  extreme 'inputs' 'if (NR % 10 < 2) $1 = v' $size
  extreme 'a column' '$1 = v' $size
  extreme 'inputs and targets' 'if (NR % 10 < 2) $3 = v; if (NR % 10 > 7) $1 = v' $size
done
rm -f out/extreme.* out/answers.csv

end_report 168
