# lab.sh: several hosts on one machine, as network namespaces on a bridge, and what the tests on them share. Sourced with the
# program as $1. The switch has a namespace of its own, so the machine's own network is as it was and addresses clash with
# nobody's; names carry this process's number. Whatever was started is ended and removed when the test ends.
set -uo pipefail
# shellcheck source=../limits.sh
source "$(dirname "${BASH_SOURCE[0]}")/../limits.sh"
export LC_ALL=C NO_COLOR=1 OPENBLAS_NUM_THREADS=1
PATH=$PATH:/usr/sbin:/sbin
advgp=$1
lab=advgp$$ net=10.213.47 n_hosts=0 n_cases=0 n_bad=0
scratch=$(mktemp -d)
skip() { echo "skipped: $*"; exit 77; }
tell() { n_bad=$((n_bad + 1)); echo "FAILED $*"; }
passed() { n_cases=$((n_cases + 1)); echo "[$SECONDS s] $*"; }
end_report() { # CASES: as many were to be
  echo "$n_cases cases, $n_bad failed, $SECONDS s"
  (( n_bad == 0 && n_cases == $1 )) || exit 1
  exit 0
}

# ---- hosts ----------------------------------------------------------------------------------------------------------

in_switch() { ip netns exec "$lab-switch" "$@"; }
on() { ip netns exec "$lab-$1" "${@:2}"; } # HOST COMMAND...
address() { echo "$net.$1"; }
cut_off() { in_switch ip link set "port$1" down; } # the cable is pulled: packets vanish, nobody is told
mend() { in_switch ip link set "port$1" up; }

hosts_up() { # N: hosts 1 to N
  [[ $(id -u) == 0 ]] || skip 'network namespaces need root'
  command -v ip >/dev/null || skip 'there is no ip (package iproute2)'
  ip netns add "$lab-switch" 2>why && in_switch ip link add bridge type bridge 2>why || skip "network namespaces are not permitted: $(cat why)"
  in_switch ip link set bridge up
  for (( ; n_hosts < $1; )); do
    n_hosts=$((n_hosts + 1))
    ip netns add "$lab-$n_hosts" || exit 1
    in_switch ip link add "port$n_hosts" type veth peer name eth0 netns "$lab-$n_hosts" || exit 1
    in_switch ip link set "port$n_hosts" master bridge up
    on $n_hosts ip link set lo up
    on $n_hosts ip addr add "$(address $n_hosts)/24" dev eth0
    on $n_hosts ip link set eth0 up
  done
}
kill_host() { # HOST: the power fails
  local pid
  for pid in $(ip netns pids "$lab-$1" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
}
hosts_down() {
  local h
  for ((h = 1; h <= n_hosts; h++)); do kill_host $h; ip netns del "$lab-$h" 2>/dev/null; done
  ip netns del "$lab-switch" 2>/dev/null
}
at_end() { :; } # what a test ends beside it
finish() { # ADVGP_KEEP=DIR keeps what was said and written
  at_end
  hosts_down
  [[ -z ${ADVGP_KEEP-} ]] || cp -r "$scratch" "$ADVGP_KEEP"
  cd / && rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM
cd "$scratch" || exit 1

# ---- waiting, never without an end ----------------------------------------------------------------------------------

await() { until_true "$@"; } # COMMAND...: until it succeeds
says() { grep -qE -- "$2" "$1" 2>/dev/null; }              # FILE PATTERN
await_word() { # FILE PATTERN WHAT
  await says "$1" "$2" || { tell "$3: no '$2' in $1 after $hang s: $(tail -n 5 "$1")"; return 1; }
}
version() { grep -oE '"event":"advance".*' "$1" 2>/dev/null | tail -n 1 | sed -nE 's/.*"version":([0-9]+).*/\1/p'; }
at_version() { local v; v=$(version "$1"); (( ${v:-0} >= $2 )); } # LOG VERSION
ended() { over "$1"; }
await_end() { # PID EXIT NAME FILE: a child ends with this code; FILE is what it said
  local code
  if ! await ended "$1"; then
    tell "$3: not over after $hang s: $(tail -n 3 "$4")"
    kill -KILL "$1" 2>/dev/null
  fi
  wait "$1" 2>/dev/null
  code=$?
  [[ $code == "$2" ]] || tell "$3: exit $code, expected $2: $(tail -n 5 "$4")"
}

# ---- what is trained ------------------------------------------------------------------------------------------------

# Smooth in two columns, with noise. A version costs naps, not CPU, so that a run lasts as long on any machine.
table() { # ROWS SEED
  awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); print "x1,x2,y"
    for (i = 0; i < n; i++) { a = rand(); b = rand(); printf "%.6f,%.6f,%.6f\n", a, b, 3 + sin(6 * a) + b + 0.2 * rand() } }'
}
field() { grep '"event":"done"' "$1" | tail -n 1 | sed -nE "s/.*\"$2\":\"?([0-9a-zA-Z.+-]+).*/\1/p"; } # LOG NAME
bits() { field "$1" bits; }
rmse() { field "$1" rmse; }
same_bits() { # NAME LOG AS
  [[ -n $(bits "$2") && $(bits "$2") == "$(bits "$3")" ]] || tell "$1: bits $(bits "$2"), not $(bits "$3")"
}
as_good() { # NAME LOG AS: test RMSE within 1 %
  awk -v a="$(rmse "$2")" -v b="$(rmse "$3")" 'BEGIN { exit !(a ~ /[0-9]/ && b ~ /[0-9]/ && a <= 1.01 * b && a >= 0.99 * b) }' ||
    tell "$1: RMSE $(rmse "$2"), undisturbed $(rmse "$3")"
}
