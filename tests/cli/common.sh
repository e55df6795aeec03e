# common.sh: what the tests of the command line share: a folder with tables and models. Sourced with ADVGP and MAKE_MODEL
# as $1 and $2.
# shellcheck source=../limits.sh
source "$(dirname "${BASH_SOURCE[0]}")/../limits.sh"
advgp=$1 make_model=$2 bad=0 seen=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TMPDIR=$dir/tmp OPENBLAS_NUM_THREADS=1
mkdir tmp
miss() { echo "FAILED: $*"; bad=1; }

# A table of every kind of column; y is theirs, up to noise.
awk 'BEGIN { srand(7); print "id,a,b,color,when,y"; split("red,green,blue", name, ",")
  for (i = 1; i <= 400; i++) {
    a = 10 + 6 * rand(); b = rand(); c = 1 + int(3 * rand())
    printf "n%03d,%.5f1,%.5f1,%s,2024-%02d-%02d,%.6f\n", i, a, b, name[c], 1 + i % 12, 1 + i % 28, 20 + sin(a) + b + c + rand() / 5 } }' > t.csv
head -21 t.csv > few.csv
"$make_model" t.csv y m.safetensors components=2 || exit 1
"$make_model" t.csv y log.safetensors log=1 || exit 1
"$make_model" t.csv y strict.safetensors missing=error || exit 1
"$make_model" t.csv y sql.safetensors sql='SELECT a, a * b AS ab, y FROM data' || exit 1
printf 'mean,sd_f,sd_y,lo,hi\n1,1,1,0,2\n' > kept.csv # predictions that are there already
