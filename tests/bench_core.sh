#!/usr/bin/env bash
# bench/gradient compares with OpenBLAS's own product: it warns where that is one of a core below this CPU.    bench_core.sh GRADIENT
set -uo pipefail
gradient=$1 bad=0
miss() { echo "FAILED: $*"; bad=1; }
warned() { env -u OPENBLAS_CORETYPE -u ADVGP_CORE_WAS "$@" "$gradient" 64 1 8 2>&1 >/dev/null | grep -c 'warning: OpenBLAS computes with its core .* set OPENBLAS_CORETYPE='; }
if grep -qw avx2 /proc/cpuinfo; then
  [[ $(warned ADVGP_TEST_CORE=Prescott) == 1 ]] || miss 'no warning of a core that is too old'
  [[ $(warned OPENBLAS_CORETYPE=Prescott) == 1 ]] || miss 'no warning of a core that was asked for'
fi
[[ $(warned ADVGP_TEST_CORE=SkylakeX) == 0 ]] || miss 'a warning of a core that is good'
exit $bad
