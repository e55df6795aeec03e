#!/usr/bin/env bash
# What is larger than memory: a table, which is packed into --cache once, and a line, which is refused. With ADVGP_LONG the line
# has a gigabyte and the table 2.4 of them; else sizes that take the same ways.
#   large.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

rows=2400000 limit_kb=560000 line_mb=64
[[ -n ${ADVGP_LONG-} ]] && rows=10000000 limit_kb=1000000 line_mb=1024

# limited COMMAND...: in that much memory of its own (mapped files do not count)
limited() { (ulimit -d "$limit_kb" && exec "${bounded[@]}" "$@"); }

# ---- a table ------------------------------------------------------------------------------------------------------------
# A query makes the rows, 60 inputs each: no file of that size is needed.
echo a >in/one.csv
query="SELECT sin(i) AS x1, $(for ((j = 2; j <= 60; j++)); do printf '(hash(i * 64 + %d) %% 1000) / 500.0 AS x%d, ' "$j" "$j"; done) 3 + sin(i) + (hash(i * 64) % 1000) / 1000.0 AS y FROM range($rows) t(i)"
train=("$advgp" train in/one.csv --sql "$query" --target y -m 10 --components 1 --epochs 1 --batch 8192 --time 5 --json -o out/m.safetensors)
(( rows * 61 * 4 > limit_kb * 1024 )) || tell 'the table fits into memory: this test shows nothing'

n_cases=$((n_cases + 1))
before=$(state)
limited "${train[@]}" >said.out 2>said.err
code=$?
[[ $code == 2 ]] || tell "no --cache: exit $code: $(tail -n 3 said.err)"
for words in "$rows rows of 60 encoded columns" '--cache DIR' 'advgp pack'; do
  grep -qF -- "$words" said.err || tell "no --cache: no '$words' in: $(tail -n 1 said.err)"
done
[[ $(state) == "$before" && ! -s said.out ]] || tell 'no --cache: something was left behind'

plain=() # the first fits cells and the noise of each row, too
for turn in first second; do
  n_cases=$((n_cases + 1))
  start=$(date +%s%N)
  limited "${train[@]}" ${plain[@]+"${plain[@]}"} --cache out/cache >said.out 2>said.err
  code=$?
  seconds=$((($(date +%s%N) - start) / 1000000))
  [[ $code == 0 ]] || tell "$turn run: exit $code: $(tail -n 3 said.err)"
  printf '%s run: %d ms, %.0f MB at the most, of %d allowed\n' "$turn" "$seconds" "$(number peak_rss_bytes | awk '{ print $1 / 1048576 }')" $((limit_kb / 1024))
  [[ $(number peak_rss_bytes) -lt $((limit_kb * 1024)) ]] || tell "$turn run: $(number peak_rss_bytes) bytes"
  (( $(number rows) > rows * 9 / 10 )) || tell "$turn run: $(number rows) rows"
  grep -q 'packed earlier' said.err && taken=second || taken=first
  [[ $taken == "$turn" ]] || tell "$turn run: $(cat said.err)"
  plain=(--noise constant --cells none)
done
[[ -z $(ls -A tmp) ]] || tell "left in the temporary folder: $(ls -A tmp)"
rm -rf out/cache

# Predictions with all their inputs, as Parquet: staged in a temporary file. DuckDB needs more memory to write than to read.
limit_kb=$((4 * limit_kb))
kept=$(for ((j = 1; j <= 60; j++)); do printf 'x%d,' "$j"; done)
n_cases=$((n_cases + 2))
limited "$advgp" predict out/m.safetensors in/one.csv --keep "${kept%,}" -q -o out/p.parquet >said.out 2>said.err || tell "predict: $(tail -n 3 said.err)"
[[ $("$advgp" evaluate out/m.safetensors in/one.csv --json -q 2>&1 | tr -d ' ') == *"\"rows\":$rows,"* ]] || tell 'evaluate: other rows'
[[ -z $(ls -A tmp) ]] || tell "predict left in the temporary folder: $(ls -A tmp)"
size=$(stat -c %s out/p.parquet)
TMPDIR=$scratch/nowhere limited "$advgp" predict out/m.safetensors in/one.csv --keep "${kept%,}" -q -o out/p.parquet >said.out 2>said.err
code=$?
[[ $code == 1 ]] && grep -q 'TMPDIR names where' said.err || tell "no temporary folder: exit $code: $(cat said.err)"
[[ $(ls out) == $'m.safetensors\np.parquet' && $(stat -c %s out/p.parquet) == "$size" ]] || tell "no temporary folder: $(ls -l out)"
rm -f out/*
limit_kb=$((limit_kb / 4))

# ---- a line -------------------------------------------------------------------------------------------------------------
# refused NAME FILE: exit 3, the file's name and what is wrong with it, little memory, nothing left
refused() {
  local name=$1 file=$2 before code
  n_cases=$((n_cases + 1))
  before=$(state)
  limited "$advgp" train "$file" --target y -o out/m.safetensors --log out/log >said.out 2>said.err
  code=$?
  [[ $code == 3 ]] || tell "$name: exit $code: $(tail -n 3 said.err | head -c 1000)"
  for words in "$file" 'more than 2,000,000 bytes' 'line ends'; do
    grep -qF -- "$words" said.err || tell "$name: no '$words' in: $(tail -n 1 said.err | head -c 1000)"
  done
  (( $(wc -c <said.err) < 1000 )) || tell "$name: a message of $(wc -c <said.err) bytes"
  [[ $(state) == "$before" && ! -s said.out ]] || tell "$name: something was left behind"
}
echo '{"event": "manifest", "of": "last week"}' >out/log
line() { head -c "$line_mb"M /dev/zero | tr '\0' "$1"; }
{ line x; } >in/line.csv
refused 'nothing but a line' in/line.csv
{ table 60; line 7; } >in/last.csv
refused 'the last line' in/last.csv
{ table 60; line 7; echo ,1,2; table 20 | tail -n +2; } >in/middle.csv
refused 'a line in the middle' in/middle.csv
{ echo x1,x2,y; printf '"'; line x; } >in/quote.csv
refused 'a quoted line' in/quote.csv
line , >in/commas.csv
refused 'nothing but commas' in/commas.csv

end_report 10
