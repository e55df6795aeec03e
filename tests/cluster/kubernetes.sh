#!/usr/bin/env bash
# The commands of examples/kubernetes/advgp.yaml as plain processes on this machine: its arguments, with the folders and the
# name of the service replaced, keys with the modes that secrets have in a pod, and pods that die and are started again.
#   kubernetes.sh ADVGP
manifest=$(cd "$(dirname "$0")/../../examples/kubernetes" && pwd)/advgp.yaml
# shellcheck source=lab.sh
source "$(dirname "$0")/lab.sh"
perl -MCPAN::Meta::YAML -e 1 2>/dev/null || skip 'perl cannot read YAML (package perl)'

arguments() { # JOB: one a line
  perl -MCPAN::Meta::YAML -e 'for (@{CPAN::Meta::YAML->read($ARGV[0])}) {
    print map { "$_\n" } @{$_->{spec}{template}{spec}{containers}[0]{args}} if $_->{kind} eq "Job" && $_->{metadata}{name} eq $ARGV[1] }' "$manifest" "$1"
}
port=$((20000 + $$ % 20000))
here() { # FOLDER_OF_KEYS: as the pod would see it
  sed -E "s|=/keys|=$scratch/$1|; s|/shared|$scratch/shared|; s|=\*:5555|=127.0.0.1:$port|; s|advgp-lead:5555|127.0.0.1:$port|"
}
mapfile -t lead_arguments < <(arguments advgp-lead | here lead-keys)
mapfile -t work_arguments < <(arguments advgp-workers | here worker-keys)
workers=$(printf '%s\n' "${lead_arguments[@]}" | sed -n 's/^--workers=//p')
(( ${#lead_arguments[@]} > 5 && ${#work_arguments[@]} > 3 && workers > 1 )) || { tell "the manifest: ${lead_arguments[*]} / ${work_arguments[*]}"; end_report 1; }

# Secrets as the README makes them, with the modes that a pod with fsGroup sees; and a user who is not root, as in the image.
"$advgp" keygen keys >/dev/null || exit 1
mkdir lead-keys worker-keys shared
cp keys/server.key keys/allow lead-keys/
cp keys/worker.key keys/server.pub worker-keys/
as=()
if [[ $(id -u) == 0 ]] && command -v setpriv >/dev/null; then
  as=(setpriv --reuid 10001 --regid 10001 --clear-groups)
  chmod 755 "$scratch"
  chgrp -R 10001 lead-keys worker-keys
  chmod 750 lead-keys worker-keys
  chmod 440 lead-keys/* worker-keys/*
  chown 10001:10001 shared
  "${as[@]}" test -x "$advgp" || as=()
fi
(( ${#as[@]} )) || { echo 'as this user, for lack of another'; chmod 600 lead-keys/* worker-keys/*; }

table 6000 1 >rows.csv
table 2000 2 >test.csv
"$advgp" pack rows.csv --target y -q -o shared/table.packed >/dev/null || exit 1
chmod -R a+rX shared/table.packed test.csv
delays=$(for ((k = 0; k < workers; k++)); do echo "$k:0.03"; done | paste -sd,)
quick=(--test "$scratch/test.csv" -m 20 --components 1 --batch 500 --epochs 40 --patience inf --delay-worker "$delays" --checkpoint-every 1 --lost-after 60)
"$advgp" train shared/table.packed "${quick[@]}" --workers "$workers" --max-delay 200 -q -o alone --log alone.log >alone.out 2>&1 ||
  { tell "alone: $(cat alone.out)"; end_report 1; }
steps=$(version alone.log)
log=shared/run.jsonl pids=()
at_end() { for pid in ${pids[@]+"${pids[@]}"}; do kill -KILL "$pid" 2>/dev/null; done; }
lead() { # SAYS
  "${as[@]}" "${bounded[@]}" "$advgp" "${lead_arguments[@]}" "${quick[@]}" >"$1" 2>&1 &
  lead=$! pids+=($!)
}
worker() { # INDEX SAYS: sets worker[INDEX]
  "${as[@]}" "${bounded[@]}" "$advgp" "${work_arguments[@]//'$(JOB_COMPLETION_INDEX)'/$1}" >"$2" 2>&1 &
  worker[$1]=$! pids+=($!)
}
all_workers() { local k; for ((k = 0; k < workers; k++)); do worker $k "$1-$k.out"; done; }
program_of() { pgrep -P "$1" | head -n 1; } # timeout's child
advances() { local n; n=$(grep -c '"event":"advance"' $log 2>/dev/null); echo "${n:-0}"; }
further() { (( $(advances) >= $1 )); }

# ---- the pods come in any order; one of the workers dies, and its successor has its place at once
all_workers first
lead first.out
await further $((steps / 8)) || tell "first: $(tail -n 3 first.out first-0.out)"
kill -KILL "$(program_of ${worker[1]})"
worker 1 first-1b.out
await_word first-1b.out 'is worker 1 from now on, its incarnation 2' 'first'
await further $(($(advances) + 5)) || tell "first: it does not go on: $(tail -n 3 first.out)"
passed "a worker's pod is replaced: $(grep incarnation first-1b.out)"

# ---- the lead's pod dies, its workers wait for the next
await_word $log '"event":"checkpoint"' 'second'
kill -KILL "$(program_of $lead)"
sleep 1
lead second.out
await_word first-0.out 'the lead has been started again' 'second'
await further $(($(advances) + steps / 8)) || tell "second: it does not go on: $(tail -n 3 second.out first-0.out)"
passed "the lead's pod is replaced: $(grep 'the lead has been started again' first-0.out)"

# ---- the lead is evicted: it leaves a checkpoint, and its workers fail, so that they are started again
kill -TERM "$(program_of $lead)"
await_end $lead 143 'evicted' second.out
for ((k = 0; k < workers; k++)); do
  said=first-$k.out
  [[ $k != 1 ]] || said=first-1b.out
  await_end ${worker[k]} 6 "worker $k of the evicted" $said
  says $said 'the lead has ended: interrupted' || tell "worker $k of the evicted: $(tail -n 2 $said)"
done
all_workers third
lead third.out
await_end $lead 0 'third' third.out
for ((k = 0; k < workers; k++)); do await_end ${worker[k]} 0 "third: worker $k" third-$k.out; done
as_good third $log alone.log
[[ ! -e shared/model.safetensors.checkpoint ]] || tell 'third: the checkpoint is still there'
passed "evicted, and gone on: $(tail -n 1 third.out)"
end_report 3
