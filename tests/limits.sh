# limits.sh: how long a test waits before it says that something hangs. A limit is against hanging alone, never against slowness:
# five minutes, times ADVGP_SLOW or how many times slower than an idle core this machine is right now, whichever is more. What a
# test does is bounded by steps. Sourced.
calibrated() { # a loop that takes less than 0.3 s on an idle core
  local start=${EPOCHREALTIME/[.,]/} i
  for ((i = 0; i < 50000; i++)); do :; done
  echo $((1 + (${EPOCHREALTIME/[.,]/} - start) / 300000))
}
now_slow=$(calibrated)
(( now_slow > ${ADVGP_SLOW:-1} )) && ADVGP_SLOW=$now_slow
export ADVGP_SLOW=${ADVGP_SLOW:-1} # also for what a script starts: once for a whole run of scripts/test
hang=$((300 * ADVGP_SLOW))

bounded=(timeout -k 5 "$hang") # in front of a command: 124 if it hangs
# until_true COMMAND...: asks again and again; false when it hangs
until_true() {
  local end=$((SECONDS + hang))
  until "$@"; do
    (( SECONDS < end )) || return 1
    sleep 0.02
  done
}
over() { ! kill -0 "$1" 2>/dev/null; } # PID
# until_found PATTERN FILE PID: the file has it, or the process that would write it is over
found_or_over() { grep -qs -- "$1" "$2" || over "$3"; }
until_found() { until_true found_or_over "$@"; }
# until_there FILE PID: the file is there with something in it, or the process is over
there_or_over() { [[ -s $1 ]] || over "$2"; }
until_there() { until_true there_or_over "$@"; }
