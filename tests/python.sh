#!/usr/bin/env bash
# The Python package and its documents, by its own tests.    python.sh LIBADVGP PROJECT_ROOT
set -uo pipefail
for python in python3 /usr/bin/python3 ''; do
  [[ -n $python ]] && "$python" -c 'import joblib, numpy, pandas, sklearn' 2>/dev/null && break
done
[[ -n $python ]] || { echo "skipped: no python3 with numpy, pandas and scikit-learn (scripts/setup installs them)"; exit 77; }
root=$(realpath "$2")
ADVGP_LIBRARY=$(realpath "$1")
export ADVGP_LIBRARY PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
exec "$python" -m unittest discover -s "$root/python/tests"
