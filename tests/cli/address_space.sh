#!/usr/bin/env bash
# address_space.sh ADVGP: under any limit of address space (ulimit -v) every verb that computes ends by itself: with its
# result, or with a sentence that tells the way out. OpenBLAS alone would try its map again for ever.
source "$(dirname "$0")/train_common.sh"
unset OPENBLAS_NUM_THREADS # a user has none
table 600 >in/t.csv
table 20 >in/few.csv
y=(--target y) small=(-m 8 --components 1 --epochs 4 --seed 1)
"$advgp" train in/t.csv "${y[@]}" "${small[@]}" -o m.safetensors --log log --quiet >said.out 2>said.err || tell "no model: $(cat said.err)"
"$advgp" train in/few.csv "${y[@]}" --method exact -o exact.safetensors --quiet >said.out 2>said.err || tell "no exact model: $(cat said.err)"
mkdir rv

# under KILOBYTES ARGUMENTS: sets code; 124 and 137 mean that somebody had to end it
under() {
  (ulimit -v "$1" && exec "${bounded[@]}" "$advgp" "${@:2}" >said.out 2>said.err </dev/null)
  code=$?
}
ends() { # NAME KILOBYTES ARGUMENTS: ends by itself, well or with a sentence
  n_cases=$((n_cases + 1))
  under "${@:2}"
  [[ $code == 0 ]] || { ((code < 7)) && grep -q '^advgp: ' said.err; } || tell "$1 at $2: exit $code: $(tail -n 2 said.err)"
}
refused() { # NAME KILOBYTES ARGUMENTS: no room for one thread
  n_cases=$((n_cases + 1))
  under "${@:2}"
  [[ $code == 1 ]] && grep -q '^advgp: no address space .*ulimit -v' said.err || tell "$1 at $2: exit $code: $(tail -n 2 said.err)"
}

# The program itself takes about 120 MB; what follows is too little for one buffer of 128 MB.
refused predict 200000 predict m.safetensors in/t.csv -o out/p.csv
refused evaluate 200000 evaluate m.safetensors in/t.csv
refused inspect 200000 inspect m.safetensors
refused train 200000 train in/t.csv "${y[@]}" "${small[@]}" -o out/m
refused exact 200000 train in/few.csv "${y[@]}" --method exact -o out/m
refused linear 200000 train in/t.csv "${y[@]}" --method linear -o out/m
refused compare 200000 compare in/t.csv "${y[@]}" --methods linear,advgp "${small[@]}"
refused work 200000 work --rendezvous rv/file
refused simulate 200000 simulate --workers 2 --rows 1000 -m 8
refused replay 200000 replay log
ends version 200000 --version
ends help 200000 train --help
ends info 200000 info
ends keygen 200000 keygen out/key

for room in 160000 240000 300000 500000; do
  ends predict $room predict m.safetensors in/t.csv -o out/p.csv
  ends evaluate $room evaluate m.safetensors in/t.csv
  ends inspect $room inspect exact.safetensors
  ends exact $room train in/few.csv "${y[@]}" --method exact -o out/m
  ends compare $room compare in/t.csv "${y[@]}" --methods linear,advgp "${small[@]}"
  ends replay $room replay log
done

# Threads: as many workers as there is room for, and a note.
for room in 500000 800000 1000000; do
  ends "8 workers" $room train in/t.csv "${y[@]}" "${small[@]}" --workers 8 --max-delay 2 -o out/m
done
grep -q 'workers reduced from 8 to' said.err || tell "8 workers in 1 GB: no note: $(cat said.err)"
[[ $code == 0 ]] || tell "8 workers in 1 GB: exit $code: $(cat said.err)"
end_report 35
