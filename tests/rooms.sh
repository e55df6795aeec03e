#!/usr/bin/env bash
# The tree is the architecture: a room of src/ includes only rooms that stand before it in the given order.
#   rooms.sh PROJECT_ROOT ROOM...       prints every include that climbs, and fails if there is one
set -euo pipefail
root=$1; shift
rooms=("$@")
declare -A rank
for i in "${!rooms[@]}"; do rank[${rooms[$i]}]=$i; done

bad=0 seen=0
for room in "${rooms[@]}"; do
  while IFS=: read -r file line text; do
    target=${text#*\"} target=${target%%\"*}
    other=${target%%/*}
    case $target in
      advgp.h) continue ;;                                              # the public header belongs to everyone
    esac
    # A test may use what tests share, and drive its room through whoever uses it.
    [[ $file == *_test.[ch] && ( -e $root/tests/$target || -e $root/src/$target ) ]] && continue
    seen=$((seen + 1))
    if [[ ! -e $root/src/$target ]]; then
      echo "$file:$line: \"$target\" is not written as \"room/file.h\""; bad=1
    elif [[ -z ${rank[$other]+x} ]]; then
      echo "$file:$line: $room includes \"$target\", and $other is not a room it may know"; bad=1
    elif (( ${rank[$other]} > ${rank[$room]} )); then
      echo "$file:$line: $room includes \"$target\", a room above it"; bad=1
    fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' -r "$root/src/$room" --include='*.[ch]' || true)
done
# Third-party types stop at one room or file each.
while IFS=: read -r file line _; do echo "$file:$line: BLAS and LAPACK belong to linalg"; bad=1
done < <(grep -nE '#include <(cblas|lapacke)' -r "$root/src" --include='*.[ch]' | grep -v "^$root/src/linalg/" || true)
while IFS=: read -r file line _; do echo "$file:$line: libLBFGS belongs to optim/lbfgs.c"; bad=1
done < <(grep -nE '#include <lbfgs' -r "$root/src" --include='*.[ch]' | grep -v "^$root/src/optim/lbfgs.c" || true)
while IFS=: read -r file line _; do echo "$file:$line: DuckDB belongs to files/duckdb*.c"; bad=1
done < <(grep -nE '#include [<"](files/)?duckdb(_connect)?\.h' -r "$root/src" --include='*.[ch]' | grep -v "^$root/src/files/duckdb" || true)
while IFS=: read -r file line _; do echo "$file:$line: ZeroMQ belongs to transport/zmq*"; bad=1
done < <(grep -nE '#include (<zmq|"transport/zmq_wire)' -r "$root/src" --include='*.[ch]' | grep -v "^$root/src/transport/zmq[_.]" || true)
while IFS=: read -r file line _; do echo "$file:$line: MPI belongs to transport/mpi*.c"; bad=1
done < <(grep -nE '#include [<"](transport/)?mpi' -r "$root/src" --include='*.[ch]' | grep -v "^$root/src/transport/mpi\(_wire\)\?.[ch]" || true)
# Whoever reads a sentence may type dashes or not: below the command line an option is {max-delay} (gp_options_named). Other
# programs, other verbs and the summaries of maps are written out.
while IFS=: read -r file line text; do echo "$file:$line: an option in a sentence is {key}, not --key: $text"; bad=1
done < <(grep -nE '"[^"]*--[a-z]' -r "$root/src" --include='*.c' | grep -vE "^$root/src/(cli|options|feature)/|_test\.c:|:[0-9]+: *//|--mpi|advgp work" || true)
# A file is known by its name: no two of src/ have the same.
while read -r name; do echo "two files are named $name: $(find "$root/src" -name "$name" -printf '%P ')"; bad=1
done < <(find "$root/src" -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
# Every room of src/ is in the order; a forgotten one would never be checked.
for dir in "$root"/src/*/; do
  name=$(basename "$dir")
  [[ -n ${rank[$name]+x} ]] || { echo "src/$name is not in the order of rooms"; bad=1; }
done
(( seen > 0 )) || { echo "no include was read: is $root the project?"; bad=1; }
(( bad == 0 )) && echo "$seen includes, none climbs"
exit $bad
