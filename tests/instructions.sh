#!/usr/bin/env bash
# Instructions of fixed work (fixed_work.c) against instructions.txt, within 3 %: a loop that no longer vectorises or is
# run twice shows here and not in a user's time. AVX2 and one core of OpenBLAS are forced; figures are of one compiler and
# BLAS, and with others the test is skipped, saying what a new line would be.
#     instructions.sh FIXED_WORK
set -euo pipefail
figures=$(dirname "$0")/instructions.txt
export OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1
command -v valgrind >/dev/null || { echo 'skipped: no valgrind'; exit 77; }
key=$("$1" key) || { echo "skipped: $key"; exit 77; }

count() { # FIXED_WORK FUNCTION WORD
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$2" "$1" "$3" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

bad=0
for work in step predict; do
    name=the_step
    [[ $work == predict ]] && name=the_prediction
    now=$(count "$1" "$name" "$work")
    [[ $now ]] || { echo "skipped: valgrind gives no count"; exit 77; }
    stored=$(awk -F' \\| ' -v key="$key" -v work="$work" '$1 == key && $2 == work { print $3 }' "$figures")
    [[ $stored ]] || { echo "skipped: no figure for this compiler and BLAS: $key | $work | $now"; exit 77; }
    echo "$work: $now instructions, stored $stored"
    awk -v a="$now" -v b="$stored" 'BEGIN { exit !(a <= 1.03 * b && a >= 0.97 * b) }' ||
        { echo "FAILED $work: not within 3 %; if that is meant, the new line is: $key | $work | $now"; bad=1; }
done
exit $bad
