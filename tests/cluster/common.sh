# common.sh: what the tests with real processes share: a folder with rows, leads and workers with limits on every wait,
# and a table of cases that run a few at a time, each in a folder and a subshell of its own. Sourced with the program as $1
# and, where only some cases are wanted, their names after it.
set -uo pipefail
export LC_ALL=C NO_COLOR=1 OPENBLAS_NUM_THREADS=1
advgp=$(realpath "$1")
shift
wanted=("$@")
rounds=1
[[ -n ${ADVGP_LONG-} ]] && rounds=10
# shellcheck source=../limits.sh
source "$(dirname "${BASH_SOURCE[0]}")/../limits.sh"
at_once=${ADVGP_AT_ONCE-3}                          # cases
# Variables of a launcher around the test are not the test's.
while read -r name; do unset "$name"; done < <(compgen -v | grep -E '^(SLURM_|OMPI_|PMIX_|PMI_|JOB_COMPLETION_INDEX$)')

scratch=$(mktemp -d) || exit 1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
running=() # subshells of cases
finish() {
  signal TERM ${running[@]+"${running[@]}"}
  wait
  [[ -n ${ADVGP_KEEP-} ]] && { echo "kept: $scratch"; return; }
  cd / && rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM
cd "$scratch" || exit 1

skip() { echo "skipped: $*"; exit 77; }
has_transport() { # zmq|mpi
  "$advgp" info --json | perl -MJSON::PP -e 'my $o = decode_json(do { local $/; <STDIN> });
    exit !grep { $_->{name} eq $ARGV[0] && $_->{available} } @{$o->{transports}}' "$1"
}
# Open MPI alone has these flags. Sanitizers: what its libraries keep is known by who asked for it.
mpirun=(mpirun --allow-run-as-root --oversubscribe)
with_mpi=0
has_transport mpi && command -v mpirun >/dev/null && [[ $(mpirun --version) == *'Open MPI'* ]] && with_mpi=1
export LSAN_OPTIONS=suppressions=$here/../mpi_lsan.supp:print_suppressions=0
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0
tell() { echo "FAILED $name: $*"; }

# table ROWS SEED: x1, x2, y; smooth in both, with noise
table() {
  awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); print "x1,x2,y"
    for (i = 0; i < n; i++) { a = rand(); b = rand(); printf "%.6f,%.6f,%.6f\n", a, b, 3 + sin(6 * a) + b + 0.2 * rand() } }'
}

# ---- processes of a case --------------------------------------------------------------------------------------------

pids=() # of this case
# start OUT COMMAND...: in the background, its words in OUT.out and OUT.err, its number in $pid. It dies with the case,
# also where that is killed.
die_with_me=()
command -v setpriv >/dev/null && setpriv --pdeathsig KILL true 2>/dev/null && die_with_me=(setpriv --pdeathsig KILL)
start() {
  local out=$1
  shift
  : >"$out.err" # before it runs: who waits for its words must not find those of one before it
  ${die_with_me[@]+"${die_with_me[@]}"} "$@" >"$out.out" 2>"$out.err" </dev/null &
  pid=$!
  pids+=("$pid")
}
# A number may be another's by now, so it is asked whose child it is.
gone() {
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  stat=${stat##*) }
  set -- $stat
  [[ $1 == Z || $2 != "$BASHPID" ]]
}
signal() { # SIGNAL PID...: to those that are still there
  local which=$1 p
  shift
  for p; do gone "$p" || kill "-$which" "$p" 2>/dev/null; done
}
sweep() { # kills what the case has started
  exec 2>/dev/null # a shell tells whom it has killed
  signal CONT ${pids[@]+"${pids[@]}"}
  signal KILL ${pids[@]+"${pids[@]}"}
  wait
}

# ends WHAT PID CODE: it ends by itself, with this code
ends() {
  local code
  if ! until_true gone "$2"; then
    tell "$1 hangs: $(tail -n 3 "$1.err")"
    signal CONT "$2"
    killed "$2"
    return 1
  fi
  wait "$2" 2>/dev/null
  code=$?
  [[ $code == "$3" ]] || { tell "$1: exit $code, expected $3: $(tail -n 4 "$1.err")"; return 1; }
}
killed() { # PID...: by us, at once
  signal KILL "$@"
  wait "$@" 2>/dev/null
}
says() { # FILE FRAGMENT...
  local file=$1 fragment
  shift
  for fragment; do grep -qF -- "$fragment" "$file" || tell "no '$fragment' in $file: $(tail -n 6 "$file")"; done
}
says_not() { # FILE FRAGMENT...
  local file=$1 fragment
  shift
  for fragment; do ! grep -qF -- "$fragment" "$file" || tell "'$fragment' in $file"; done
}
# counted FILE WORD N: at least N lines have it
counted() {
  local n
  n=$(grep -cF -- "$2" "$1" 2>/dev/null)
  (( ${n:-0} >= $3 ))
}
await() { # FILE WORD [N]: until that many lines of the file have it, or there is no lead any more that could bring it about
  there_or_over() { counted "$@" || { [[ -n ${lead-} ]] && gone "$lead"; }; }
  until_true there_or_over "$1" "$2" "${3-1}"
  counted "$1" "$2" "${3-1}" && return
  tell "waited for '$2' (${3-1}) in $1: $(tail -n 3 "$1" 2>/dev/null | cut -c1-300); lead: $(tail -n 2 lead.err)"
  return 1
}
await_version() { await log '"event":"advance"' "$1"; } # steps of the log, since it was begun
n_lines() { local n; n=$(grep -cF -- "$2" "$1" 2>/dev/null); echo "${n:-0}"; }

number() { # FILE KEY: of the JSON object in it
  perl -MJSON::PP -e 'local $/; my $o = eval { decode_json(<STDIN>) } // {}; $o = $o->{$_} for split "/", shift; print $o // "null"' "$2" <"$1"
}
close_to() { # WHAT A B RELATIVE
  awk -v a="$2" -v b="$3" -v r="$4" 'BEGIN { d = a - b; if (d < 0) d = -d; s = b < 0 ? -b : b; exit !(a ~ /[0-9]/ && d <= r * s) }' ||
    tell "$1: $2 is not within $4 of $3"
}
bits() { grep '"event":"done"' "$1" | tail -n 1 | sed -nE 's/.*"bits":"([0-9a-f]+)".*/\1/p'; }

# ---- cases ----------------------------------------------------------------------------------------------------------

n_cases=0 n_bad=0
one_case() { # NAME ROUND: in a subshell
  name=$1
  pids=()
  trap sweep EXIT
  trap 'exit 1' TERM
  running=()
  mkdir -m 700 "$scratch/$1.$2" && cd "$scratch/$1.$2" || exit 1
  export TMPDIR=$PWD
  "case_$1"
}
is_wanted() {
  local w
  (( ${#wanted[@]} )) || return 0
  for w in "${wanted[@]}"; do [[ $w == "$1" ]] && return 0; done
  return 1
}
collect() { # PID NAME ROUND: what it said
  local said=$scratch/$2.$3.said
  wait "$1"
  n_cases=$((n_cases + 1))
  if grep -q '^FAILED' "$said"; then n_bad=$((n_bad + 1)); fi
  sed "s/^/$2: /; s/^$2: FAILED/FAILED/" "$said"
}
# cases NAME...: every wanted one, $rounds times, $at_once at a time
cases() {
  local round c k names=() rounds_of=()
  for ((round = 1; round <= rounds; round++)); do
    for c; do
      is_wanted "$c" || continue
      while (( $(jobs -rp | wc -l) >= at_once )); do wait -n; done
      (one_case "$c" "$round") >"$scratch/$c.$round.said" 2>&1 &
      running+=("$!") names+=("$c") rounds_of+=("$round")
    done
  done
  for k in "${!running[@]}"; do collect "${running[k]}" "${names[k]}" "${rounds_of[k]}"; done
  running=()
}
end_report() {
  echo "$n_cases cases, $n_bad failed"
  (( n_bad == 0 && n_cases > 0 )) || exit 1
  exit 0
}
