#!/usr/bin/env bash
# The transport over MPI, as mpirun starts it.    mpi.sh MPI_RANKS laws|pieces|whole|deaths|launch
set -euo pipefail
# shellcheck source=limits.sh
source "$(dirname "$0")/limits.sh"
ranks=$1 what=$2
# Sanitizers: what MPI's libraries keep is known by who asked for it, and that takes whole call stacks, as they are closed by then.
export LSAN_OPTIONS=suppressions=$(dirname "$0")/mpi_lsan.supp:print_suppressions=0
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0
export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}suppressions=$(dirname "$0")/mpi_tsan.supp
mpi() { "${bounded[@]}" mpirun --allow-run-as-root --oversubscribe "$@"; }
without=0
[[ $("$ranks" open 2>&1) == *'MPI cannot be used'* ]] && without=1

if [[ $what == launch ]]; then
  refused() {      # TEXT COMMAND...: fails, and says this
    local text=$1 said; shift
    if said=$("$@" 2>&1); then echo "this was not refused: $*"; exit 1; fi
    [[ $said == *"$text"* ]] || { echo "$*: \"$text\" expected, came: $said"; exit 1; }
  }
  clean=(env -u PMIX_RANK -u PMI_RANK -u PMI_SIZE -u OMPI_COMM_WORLD_SIZE)
  if (( without )); then echo "built without MPI, and says so"; exit 0; fi
  refused "srun started 4 tasks but MPI sees one process: use srun --mpi=pmix" \
          "${clean[@]}" SLURM_NTASKS=4 SLURM_PROCID=1 SLURM_STEP_ID=0 "$ranks" open
  refused "start with mpirun -n N or srun --mpi=pmix -n N" "${clean[@]}" "$ranks" open
  refused "mpiexec started 3 processes but MPI sees one" "${clean[@]}" PMI_SIZE=3 PMI_RANK=1 "$ranks" open
  command -v mpirun >/dev/null || exit 0
  refused "N at least 2" mpi -n 1 "$ranks" open
  echo "worlds of one are refused"
  exit 0
fi

command -v mpirun >/dev/null || { echo "skipped: no mpirun"; exit 77; }
(( without )) && { echo "skipped: built without MPI"; exit 77; }
mpirun --version | grep -q 'Open MPI' || { echo "skipped: the flags of this test are Open MPI's"; exit 77; }
case $what in
  laws) mpi -n 4 "$ranks" laws ;;
  pieces) mpi -n 4 "$ranks" laws 100 ;;
  whole) mpi --mca btl tcp,self -n 4 "$ranks" laws 67108864 ;; # nothing in pieces; over TCP, as between machines
  deaths)
    for mode in "rude 100" "rude 67108864" die unnoticed headless left late; do
      for btl in vader,self tcp,self; do
        echo "== $mode, $btl"
        mpi --enable-recovery --mca btl "$btl" -n 4 "$ranks" $mode
      done
    done ;;
esac
