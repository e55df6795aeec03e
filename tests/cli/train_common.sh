# train_common.sh: what the tests of train and pack share: a scratch folder, generated tables, and the two kinds of case.
# Sourced with the program as $1. A bad case must end with its exit code, a message that holds every given fragment, and
# nothing changed on disk: no output, no temporary file, the output that was there before untouched.
set -uo pipefail
# shellcheck source=../limits.sh
source "$(dirname "${BASH_SOURCE[0]}")/../limits.sh"
export LC_ALL=C NO_COLOR=1 OPENBLAS_NUM_THREADS=1
advgp=$1
scratch=$(mktemp -d)
mkdir "$scratch/tmp" "$scratch/out" "$scratch/in"
export TMPDIR=$scratch/tmp
mounted=
finish() {
  [[ -n $mounted ]] && umount "$mounted"
  cd / && rm -rf "$scratch"
}
trap finish EXIT
cd "$scratch" || exit 1
n_cases=0 n_bad=0
tell() { n_bad=$((n_bad + 1)); echo "FAILED $*"; }

# table ROWS [SEED]: x1, x2, y; smooth in both, with noise
table() {
  awk -v n="$1" -v seed="${2-1}" 'BEGIN { srand(seed); print "x1,x2,y"
    for (i = 0; i < n; i++) { a = rand(); b = rand(); printf "%.6f,%.6f,%.6f\n", a, b, 3 + sin(6 * a) + b + 0.2 * rand() } }'
}
# with FILE AWK: the table with a fourth column (or anything else) made by an awk program; NR is the line
with() { table 60 | awk -F, -v OFS=, "$2" >"in/$1"; }

# looks_like model|checkpoint: the beginning of a file that a training may replace
looks_like() {
  local what=format
  [[ $1 == checkpoint ]] && what=checkpoint
  printf '\x40\0\0\0\0\0\0\0{"__metadata__":{"advgp":"{\\"%s\\":1}"}} of last week\n' "$what"
}

# Everything on disk that a case might touch, with its bytes.
state() { find out tmp "$@" -printf '%p %y %l\n' -type f -exec cksum {} + 2>/dev/null | sort; }

# bad NAME EXIT FRAGMENT... -- ARGUMENTS of advgp; standard input comes from where the caller sends it
bad() {
  local name=$1 want=$2 code fragments=() before
  shift 2
  while [[ $1 != -- ]]; do fragments+=("$1"); shift; done
  shift
  n_cases=$((n_cases + 1))
  before=$(state)
  "${bounded[@]}" "$advgp" "$@" >said.out 2>said.err
  code=$?
  local message
  message=$(grep '^advgp: ' said.err | tail -n 1)
  [[ $code == "$want" ]] || tell "$name: exit $code, expected $want: $(tail -n 3 said.err)"
  for fragment in "${fragments[@]}"; do
    [[ $message == *"$fragment"* ]] || tell "$name: no '$fragment' in: $message"
  done
  [[ -s said.out ]] && tell "$name: printed on standard output: $(head -c 200 said.out)"
  (( ${#message} < 700 )) || tell "$name: a message of ${#message} characters"
  [[ $(tr -d '\n\t -~\200-\377' <said.err | wc -c) == 0 ]] || tell "$name: control characters in the message"
  [[ $(state) == "$before" ]] || tell "$name: files changed: $(diff <(echo "$before") <(state))"
}

# good NAME FRAGMENT... -- ARGUMENTS: exit 0; the fragments are in what was said; said.out and said.err stay to look at
good() {
  local name=$1 code fragments=()
  shift
  while [[ $1 != -- ]]; do fragments+=("$1"); shift; done
  shift
  n_cases=$((n_cases + 1))
  "${bounded[@]}" "$advgp" "$@" >said.out 2>said.err
  code=$?
  [[ $code == 0 ]] || tell "$name: exit $code: $(tail -n 3 said.err)"
  for fragment in "${fragments[@]}"; do
    grep -qF -- "$fragment" said.err said.out || tell "$name: no '$fragment' in: $(cat said.err)"
  done
  [[ -z $(ls -A tmp) ]] || tell "$name: left in the temporary folder: $(ls -A tmp)"
}

# number KEY: a number of the JSON object in said.out, by its path: coverage/0.9
number() {
  perl -MJSON::PP -e 'my $o = decode_json(do { local $/; <STDIN> }); $o = $o->{$_} for split "/", shift; print $o // "null"' "$1" <said.out
}
close_to() { # NAME A B RELATIVE
  awk -v a="$2" -v b="$3" -v r="$4" 'BEGIN { d = a - b; if (d < 0) d = -d; s = b < 0 ? -b : b; exit !(a ~ /[0-9]/ && d <= r * s) }' ||
    tell "$1: $2 is not within $4 of $3"
}

end_report() {
  echo "$n_cases cases, $n_bad failed"
  (( n_bad == 0 && n_cases >= $1 )) || exit 1
  exit 0
}
