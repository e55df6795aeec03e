#!/usr/bin/env bash
# The pages of `advgp report` and `train --report`, in a real browser where there is one: see tests/report.js for what is asked of
# them.    report.sh ADVGP PROJECT_ROOT [PICTURES]      with PICTURES (a folder) screenshots stay there; unseen: no browser
set -euo pipefail
advgp=$1 root=$2 pictures=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "report: $*" >&2; exit 1; }
cd "$work"

# Tables: numbers, categories, dates, truths and gaps with names and values from a stranger; one column; no number; many columns.
python3 - <<'PY'
import csv, datetime, math, random
rng = random.Random(3)
evil = ['</script><script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"\'&amp;\u2028|#', 'plain']
def write(name, head, rows):
    with open(name, 'w', newline='', encoding='utf-8') as f:
        w = csv.writer(f); w.writerow(head); w.writerows(rows)
def hostile(n):
    for i in range(n):
        x, z, kind = rng.uniform(-3, 3), rng.uniform(0, 10), rng.randrange(4)
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=rng.randrange(700))
        y = 3 * math.sin(x) + 0.3 * z + kind + 0.002 * day.toordinal() % 5 + rng.gauss(0, 0.3)
        yield [x, z if rng.random() > 0.05 else '', evil[kind], day.isoformat(), rng.random() < 0.5, y]
head = ['<script>alert(1)</script>', 'a "z" & more\u2028', "it's <b> datum['x'] + \\", 'when', 'on', '<i>y</i>']
write('hostile.csv', head, hostile(900))
write('later.csv', head, hostile(300))
write('one.csv', ['x', 'y'], ([x, math.sin(x) + rng.gauss(0, 0.1)] for x in (rng.uniform(0, 6) for _ in range(60))))
write('words.csv', ['colour', 'size', 'y'], ([c, s, len(c) + 2 * len(s) + rng.gauss(0, 0.2)]
      for c, s in ((rng.choice(['red', 'green', 'violet']), rng.choice(['s', 'mm', 'lll'])) for _ in range(300))))
write('years.csv', ['latitude', 'longitude', 'built', 'y'], ([51 + a / 1e4, -122.2 + b / 1e4, built,
      1900 + 60 * math.sin(a) + 30 * math.sin(2 * b) + (built - 1950) / 5]
      for a, b, built in ((rng.uniform(-3, 3), rng.uniform(-2, 2), rng.randrange(1900, 2000)) for _ in range(400))))
write('wide.csv', [f'x{i}' for i in range(1000)] + ['y'], ([*v, v[0] + 0.5 * v[7] + rng.gauss(0, 0.1)]
      for v in ([round(rng.gauss(0, 1), 3) for _ in range(1000)] for _ in range(120))))
PY

quiet=(-q --force)
"$advgp" train hostile.csv --target '<i>y</i>' --method advgp -m 30 --components 2 --cells none --epochs 4 --workers 2 --max-delay 4 --noise varying \
  -o hostile.safetensors --log hostile.jsonl --report trained.html "${quiet[@]}" >/dev/null
"$advgp" report hostile.safetensors hostile.jsonl --data later.csv -o hostile.html "${quiet[@]}" >/dev/null
"$advgp" report hostile.safetensors -o model.html "${quiet[@]}" >/dev/null
if [[ $pictures != unseen ]]; then # a sanitizer has seen all of these functions by now
  "$advgp" train one.csv --target y -o one.safetensors --report one.html "${quiet[@]}" >/dev/null
  "$advgp" train words.csv --target y --log-target --method exact -o words.safetensors --report words.html "${quiet[@]}" >/dev/null
  "$advgp" train years.csv --target y -o years.safetensors --report years.html "${quiet[@]}" >/dev/null
  "$advgp" train wide.csv --target y --method linear -o wide.safetensors --report wide.html "${quiet[@]}" >/dev/null
  "$advgp" train hostile.csv --target '<i>y</i>' --method mean -o mean.safetensors --report mean.html "${quiet[@]}" >/dev/null
  "$advgp" compare hostile.csv --target '<i>y</i>' --methods svigp,distgp-gd,linear --inducing 10 --time 1 --log compared.jsonl "${quiet[@]}" >/dev/null
  "$advgp" report hostile.safetensors hostile.jsonl compared.jsonl -o runs.html "${quiet[@]}" >/dev/null
fi

# The same rows give the same figures as evaluate, and the same bytes twice.
"$advgp" report hostile.safetensors hostile.jsonl --data later.csv -o again.html "${quiet[@]}" >/dev/null
cmp hostile.html again.html || fail "the same report twice is not the same"
rmse=$("$advgp" evaluate hostile.safetensors later.csv --json -q | python3 -c 'import json, sys; print("%.4g" % json.load(sys.stdin)["rmse"])')
grep -q "typical error (RMSE) is $rmse" hostile.html || fail "RMSE $rmse of evaluate is not in the page"
(( $(grep -o '± [0-9]' hostile.html | wc -l) >= 3 )) || fail "RMSE, R2 and coverage of few rows have no standard errors"
[[ $("$advgp" report hostile.safetensors -o - | wc -c) == $(wc -c <model.html) ]] || fail "standard output is not the page"
"$advgp" report hostile.safetensors --json -o model.html | python3 -c 'import json, sys; assert json.load(sys.stdin)["bytes"] > 10000'

# What is there is not lost, and what is wrong is said.
expect() { # CODE PATTERN COMMAND...
  local code=$1 pattern=$2 got=0; shift 2
  "$@" >out 2>&1 || got=$?
  [[ $got == "$code" ]] || { cat out; fail "exit $got, not $code: $*"; }
  grep -qE -- "$pattern" out || { cat out; fail "does not say '$pattern': $*"; }
}
cp later.csv kept.csv
expect 2 'no report of advgp' "$advgp" report hostile.safetensors -o kept.csv
expect 2 'would overwrite what is read' "$advgp" report hostile.safetensors -o later.csv --data later.csv --force
expect 2 'would overwrite what is read' "$advgp" report hostile.safetensors hostile.jsonl -o hostile.jsonl --force
expect 4 'later.csv' "$advgp" report later.csv -o x.html
expect 4 'later.csv' "$advgp" report hostile.safetensors later.csv -o x.html
expect 3 'nothing.csv' "$advgp" report hostile.safetensors --data nothing.csv -o x.html
expect 2 'name another file' "$advgp" train one.csv --target y -o m.safetensors --report m.safetensors
expect 1 'nowhere' "$advgp" report hostile.safetensors -o nowhere/x.html
[[ ! -e x.html ]] || fail "a page was left behind"
cmp -s later.csv kept.csv || fail "a table was written over"
for page in *.html; do
  (( $(wc -c <"$page") < 2000000 )) || fail "$page is larger than 2 MB"
  ! grep -qE 'https?://[^ "]*\.(js|css|png|woff)|src="?http' <(sed -n '/<main>/,/<\/main>/p' "$page") || fail "$page asks for something elsewhere"
done

[[ $pictures != unseen ]] || exit 0
browser=$(command -v chromium || command -v chromium-browser || true)
[[ -n $browser ]] || { echo "skipped in part: no chromium, the pages were not looked at"; exit 77; }
[[ -d $root/deps/browser ]] || { echo "skipped in part: no deps/browser (scripts/setup), the pages were not looked at"; exit 77; }
grep -q 'id="charts"' hostile.html || { echo "skipped in part: built without Vega"; exit 77; }
node "$root/tests/report.js" "$browser" "$root/deps/browser" "$work" "$pictures"
