#!/usr/bin/env bash
# The wheel in a virtual environment that knows nothing of this tree, and the package's tests with it.    wheel.sh PROJECT_ROOT
# It compiles everything once more: with ADVGP_WHEEL=1, as .ci/run says it, or ADVGP_LONG=1.
set -euo pipefail
[[ -n ${ADVGP_LONG-}${ADVGP_WHEEL-} ]] || { echo "skipped: takes a build of its own (ADVGP_WHEEL=1)"; exit 77; }
/usr/bin/python3 -c 'import ensurepip, numpy, pandas, sklearn' 2>/dev/null || { echo "skipped: no python3-venv, numpy, pandas or scikit-learn"; exit 77; }
root=$(realpath "$1") dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
wheel=$("$root/scripts/package-wheel" "$dir")
/usr/bin/python3 -m venv --system-site-packages "$dir/venv"
"$dir/venv/bin/pip" install -q --no-index "$wheel"
cp -r "$root/python/tests" "$dir/tests"
rm "$dir/tests/test_documents.py" # of the tree, as is the header that test_data.py reads
cd "$dir/tests"
unset ADVGP_LIBRARY PYTHONPATH
"$dir/venv/bin/python" - <<'P'
import os, sys, advgp
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line}
ours = {os.path.basename(path) for path in mapped if path.startswith(sys.prefix)}
assert {"libadvgp.so.0", "libduckdb.so", "liblbfgs.so.0", "libjansson.so.4"} <= ours, ours
P
"$dir/venv/bin/python" -m unittest test_regressor test_training test_sklearn
licences=$(/usr/bin/python3 -m zipfile -l "$wheel" | grep -c '/licenses/')
(( licences >= 8 )) || { echo "only $licences licences in $wheel"; exit 1; }
