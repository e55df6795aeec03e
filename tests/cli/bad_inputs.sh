#!/usr/bin/env bash
# What goes wrong at the command line: the exit code, a message that names the culprit, nothing left behind, an existing
# output untouched.        bad_inputs.sh ADVGP MAKE_MODEL
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
trap '' XFSZ # a write beyond ulimit -f then fails like one on a full disk

# models
head -c 3000 m.safetensors > cut.safetensors
head -c 5 m.safetensors > cut-off.safetensors
: > empty.safetensors
cp m.safetensors flipped.safetensors
printf '\x41' | dd of=flipped.safetensors bs=1 seek=$(($(stat -c %s m.safetensors) - 900)) conv=notrunc status=none
sed 's/\\"format\\":2/\\"format\\":3/' m.safetensors > newer.safetensors
sed 's/\\"target\\":\\"y\\"/\\"target\\":\\"z\\"/' m.safetensors > renamed.safetensors
sed 's/\\"format\\"/\\"fnrmat\\"/' m.safetensors > foreign.safetensors
mkfifo pipe
# tables
: > empty.csv
: > empty.parquet
head -1 t.csv > header.csv
cut -d, -f1,3-6 t.csv > without_a.csv
cut -d, -f1-5 t.csv > without_y.csv
awk -F, -v OFS=, 'NR == 30 { $3 = "much" } 1' t.csv > word.csv
awk -F, -v OFS=, 'NR > 1 { $3 = "w" NR } 1' t.csv > words.csv
awk -F, -v OFS=, 'NR > 1 { $6 = "" } 1' t.csv > no_targets.csv
awk -F, -v OFS=, 'NR > 1 { $5 = "soon" } 1' t.csv > no_dates.csv
awk -F, -v OFS=, 'NR == 5 { $2 = "" } 1' t.csv > gap.csv
awk -F, -v OFS=, 'NR == 5 { $2 = "1e300" } 1' t.csv > huge.csv
{ head -1 t.csv; sed -n 5p huge.csv; } > only_huge.csv
awk -F, -v OFS=, 'NR == 9 { print; print "x,y"; next } 1' t.csv > ragged.csv
awk -F, -v OFS=, 'NR == 1 { $3 = "a" } 1' t.csv > twice.csv
head -c 20000 /dev/zero | tr '\0' '\377' > junk.csv
head -c 4000 "$advgp" > binary.csv
mkdir no_data folder.csv
echo 'interval = 2' > range.conf
echo 'colour = red' > unknown.conf
echo 'PAR1 and no more' > broken.parquet
echo '{"a": 1' > broken.jsonl
few=few.csv
"$advgp" train t.csv --target y --method linear --dirty error -o picky.safetensors -q > tmp/out.txt 2>&1 || miss "a picky model: $(cat tmp/out.txt)"
rm -f tmp/out.txt
before=$(find . -mindepth 1 -not -path ./tmp | sort | xargs -d '\n' stat -c '%n %s %Y')

# try CODE "piece of the message" ARGUMENTS...
try() {
  local code=$1 piece=$2 got; shift 2
  seen=$((seen + 1))
  "$advgp" "$@" > out.txt 2> err.txt < "${input:-/dev/null}"; got=$?
  [[ $got == "$code" ]] || miss "advgp $*: exit $got, not $code: $(head -c 300 err.txt)"
  grep -qF -- "$piece" err.txt || miss "advgp $*: '$piece' is not in: $(head -c 400 err.txt)"
  grep -q '^advgp: ' err.txt || miss "advgp $*: no line of advgp's: $(head -c 300 err.txt)"
  [[ ! -s out.txt ]] || miss "advgp $*: it printed $(head -c 100 out.txt)"
  rm -f out.txt err.txt
  [[ $(find . -mindepth 1 -not -path ./tmp | sort | xargs -d '\n' stat -c '%n %s %Y') == "$before" ]] || { miss "advgp $*: it left or changed a file"; exit 1; }
  [[ -z $(ls -A tmp) ]] || { miss "advgp $*: it left $(ls -A tmp)"; rm -rf tmp/*; }
}

# usage
try 2 "a verb is needed"
try 2 "the nearest is predict" predct m.safetensors t.csv
try 2 "the nearest is" evaluat m.safetensors t.csv
try 2 "--intervall" predict m.safetensors t.csv --intervall 0.9
try 2 "predict needs MODEL DATA" predict
try 2 "predict needs MODEL DATA" predict m.safetensors
try 2 "evaluate needs MODEL DATA" evaluate m.safetensors
try 2 "inspect" inspect
try 2 "one too many" inspect m.safetensors log.safetensors
try 2 "info" info m.safetensors
try 2 "--interval" predict m.safetensors t.csv --interval 1
try 2 "--interval" predict m.safetensors t.csv --interval 0
try 2 "--interval" predict m.safetensors t.csv --interval ninety
try 2 "--interval" predict m.safetensors t.csv --interval
try 2 "two columns 'lo_0.5'" predict m.safetensors t.csv --interval 0.5 --interval 0.5
try 2 "--quantiles" predict m.safetensors t.csv --quantiles 0.5,1
try 2 "--exceeds" predict m.safetensors t.csv --exceeds many
try 2 "--draws" predict m.safetensors t.csv --draws -1
try 2 "gives no column but the mean" predict m.safetensors t.csv --mean-only --draws 3
try 2 "already" predict m.safetensors t.csv --quantiles 0.5 --keep q_0.5
try 2 "range.conf" predict m.safetensors t.csv --config range.conf
try 2 "unknown.conf:1" predict m.safetensors t.csv --config unknown.conf
try 2 "seed" evaluate m.safetensors t.csv --seed 3
try 2 "already" predict m.safetensors t.csv --keep mean
try 2 "'id' twice" predict m.safetensors t.csv --keep id,id
try 2 "--json needs -o" predict m.safetensors t.csv --json
try 2 "none of .csv, .parquet and .jsonl" predict m.safetensors t.csv -o out.xlsx
try 2 "none of .csv, .parquet and .jsonl" predict m.safetensors t.csv -o out

# models
for verb in predict evaluate inspect; do
  [[ $verb == inspect ]] && few=
  try 3 "missing.safetensors: cannot open" $verb missing.safetensors $few
  try 4 "not a regular file" $verb no_data $few
  try 4 "not a regular file" $verb /dev/null $few
  try 4 "not a regular file" $verb pipe $few
  try 4 "empty.safetensors" $verb empty.safetensors $few
  try 4 "cut-off.safetensors" $verb cut-off.safetensors $few
  try 4 "cut.safetensors" $verb cut.safetensors $few
  try 4 "the tensors are damaged" $verb flipped.safetensors $few
  try 4 "format version 3 is newer than this advgp" $verb newer.safetensors $few
  try 4 "its checksum differs" $verb renamed.safetensors $few
  try 4 "no model of advgp" $verb foreign.safetensors $few
  try 4 "t.csv is a table, not a model" $verb t.csv $few
done
for verb in predict evaluate explain; do
  try 4 "t.csv is a table, not a model: the model comes first, as in advgp $verb m.safetensors t.csv" $verb t.csv m.safetensors
done
try 4 "as in advgp report m.safetensors --data t.csv" report t.csv m.safetensors

# data
for verb in predict evaluate; do
  try 3 "cannot open nowhere.csv" $verb m.safetensors nowhere.csv
  try 3 "empty.csv is empty" $verb m.safetensors empty.csv
  try 3 "the folder no_data holds no data file" $verb m.safetensors no_data
  try 3 "the folder folder.csv holds no data file" $verb m.safetensors folder.csv
  try 3 "no file matches" $verb m.safetensors 'nothing*.csv'
  try 3 "no column 'a' (an input of the model)" $verb m.safetensors without_a.csv
  try 3 "'much'" $verb picky.safetensors word.csv
  try 3 "column 'b' holds" $verb picky.safetensors words.csv
  try 3 "column 'when'" $verb picky.safetensors no_dates.csv
  try 3 "ragged.csv, line" $verb m.safetensors ragged.csv
  try 3 "twice.csv" $verb m.safetensors twice.csv
  try 3 "junk.csv" $verb m.safetensors junk.csv
  try 3 "binary.csv" $verb m.safetensors binary.csv
  try 3 "broken.parquet" $verb m.safetensors broken.parquet
  try 3 "broken.jsonl" $verb m.safetensors broken.jsonl
  try 3 "m.safetensors" $verb m.safetensors m.safetensors
  try 3 "column 'a' is missing" $verb strict.safetensors gap.csv
  try 3 "the query stored in the model" $verb sql.safetensors without_a.csv
  try 3 "without_y.csv" $verb m.safetensors t.csv without_y.csv
done
# A row that double precision cannot compute has no answer, and ends nothing: it is counted, and the others have theirs.
lost='1 row is without an answer'
seen=$((seen + 3))
"$advgp" predict m.safetensors t.csv -o tmp/all.csv -q && "$advgp" predict m.safetensors huge.csv -o tmp/lost.csv --json > tmp/out.txt 2> tmp/err.txt ||
  miss "predict of a huge input: $(cat tmp/err.txt)"
grep -q "$lost" tmp/err.txt && grep -q '"unanswered": 1,' tmp/out.txt || miss "a huge input is not counted: $(cat tmp/err.txt tmp/out.txt)"
[[ $(sed -n 5p tmp/lost.csv) == ,,,, && $(sed 5d tmp/lost.csv) == "$(sed 5d tmp/all.csv)" ]] || miss "a huge input changes other rows: $(sed -n 4,6p tmp/lost.csv)"
"$advgp" evaluate m.safetensors huge.csv --json > tmp/out.txt 2> tmp/err.txt && grep -q "$lost" tmp/err.txt && grep -q '"rows": 399,' tmp/out.txt ||
  miss "evaluate of a huge input: $(cat tmp/err.txt tmp/out.txt)"
"$advgp" report m.safetensors --data huge.csv -o tmp/lost.html > tmp/out.txt 2> tmp/err.txt && grep -q "$lost" tmp/err.txt || miss "report of a huge input: $(cat tmp/err.txt)"
rm -f tmp/*
try 3 "its row is so far from those of training" evaluate m.safetensors only_huge.csv
try 3 "no column 'y' (the target)" evaluate m.safetensors without_y.csv
try 3 "no row with a value of 'y'" evaluate m.safetensors no_targets.csv
try 3 "no row with a value of 'y'" evaluate m.safetensors header.csv
try 3 "no column 'idd' (a column of --keep); did you mean 'id'?" predict m.safetensors t.csv --keep idd
input=empty.csv try 3 "is empty" predict m.safetensors -
input=no_data try 3 "cannot read standard input: Is a directory" predict m.safetensors -

# what is not there is exit 3, whichever verb and option names it
y=(--target y -o new) nowhere='No such file'
try 3 "$nowhere" train nowhere.csv "${y[@]}"
try 3 "$nowhere" pack nowhere.csv "${y[@]}"
try 3 "$nowhere" compare nowhere.csv --target y --methods mean
try 3 "$nowhere" simulate nowhere.csv --target y --workers 2
try 3 "$nowhere" replay nowhere
try 3 'Is a directory' replay no_data -o new
for option in test validation start resume config; do try 3 "$nowhere" train t.csv "${y[@]}" --$option ./nowhere; done
try 3 "$nowhere" evaluate m.safetensors t.csv --config nowhere
try 3 "$nowhere" predict sql.safetensors t.csv --table other=nowhere
try 3 'there is no key file' work --server 127.0.0.1:1 --keys nowhere
try 3 'empty.parquet is empty; rows' predict m.safetensors empty.parquet
input=junk.csv try 3 "standard input" predict m.safetensors -

# outputs; kept.csv is there before, and stays as it is
try 1 "cannot write nowhere/out.csv" predict m.safetensors t.csv -o nowhere/out.csv
try 1 "cannot write nowhere/out.parquet" predict m.safetensors t.csv -o nowhere/out.parquet
try 1 "cannot write kept.csv/out.jsonl" predict m.safetensors t.csv -o kept.csv/out.jsonl
try 1 "it is a folder" predict m.safetensors t.csv -o no_data
try 1 "it is a folder" predict m.safetensors t.csv -o folder.csv
try 1 "cannot write /dev/full" predict m.safetensors t.csv -o /dev/full
try 3 "'much'" predict picky.safetensors word.csv -o kept.csv
try 4 "newer" predict newer.safetensors t.csv -o kept.csv
try 3 "column 'a' is missing" predict strict.safetensors gap.csv -o kept.csv
try 2 "already" predict m.safetensors t.csv --keep mean -o kept.csv
for end in csv jsonl parquet; do
  (ulimit -f 4; try 1 "" predict m.safetensors t.csv -o out.$end; exit $bad) || bad=1
  seen=$((seen + 1))
done
(ulimit -f 4; try 1 "kept.csv" predict m.safetensors t.csv -o kept.csv; exit $bad) || bad=1
for verb in "predict m.safetensors t.csv" "evaluate m.safetensors t.csv" "inspect m.safetensors" "info" "--help" "predict --help" "--version"; do
  seen=$((seen + 1))
  "$advgp" $verb > /dev/full 2> tmp/err.txt
  [[ $? == 1 ]] && grep -q 'cannot write to standard output' tmp/err.txt || miss "advgp $verb > /dev/full: $(cat tmp/err.txt)"
  rm -f tmp/err.txt
done

# an interrupt: the code of the signal, and nothing left
awk 'NR == 1 || NR > 1 { print } END { for (i = 0; i < 2000; i++) for (j = 0; j < 200; j++) print last } { last = $0 }' t.csv > tmp/long.csv
writes_or_over() { compgen -G '.advgp-*' > /dev/null || over "$1"; }
for pair in INT:130 TERM:143 HUP:129; do
  seen=$((seen + 1))
  "$advgp" predict m.safetensors tmp/long.csv -o kept.csv > /dev/null 2>&1 & pid=$!
  until_true writes_or_over $pid
  kill -"${pair%:*}" $pid
  wait $pid; got=$?
  [[ $got == "${pair#*:}" ]] || miss "interrupted by ${pair%:*}: exit $got"
  [[ $(find . -mindepth 1 -not -path ./tmp -not -path './tmp/*' | sort | xargs -d '\n' stat -c '%n %s %Y') == "$before" ]] || miss "interrupted: it left or changed a file"
done
(( bad == 0 )) && echo "$seen bad inputs, each refused in its way"
exit $bad
