#!/usr/bin/env bash
# Writes the kept seeds of the fuzzers of model files, schemas, checkpoints and packed folders anew, with the program as it is.
#   fuzz/corpus.sh ADVGP MAKE_CHECKPOINT
set -euo pipefail
advgp=$(realpath "$1") make_checkpoint=$(realpath "$2") corpus=$(realpath "$(dirname "$0")")/corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p "$corpus"/{modelfile,schema,checkpoint,packed}

awk 'BEGIN { srand(1); print "x1,x2,y"; for (i = 0; i < 20; i++) { a = rand(); b = rand(); printf "%.3f,%.3f,%.3f\n", a, b, a * b + a } }' >two.csv
awk 'BEGIN { srand(2); print "n,flag,day,colour,shop,w,y"; for (i = 0; i < 60; i++)
  printf "%s,%s,2024-%02d-%02d,%s,%s,%d,%.3f\n", i % 9 ? rand() : "", i % 2 ? "true" : "false", i % 12 + 1, i % 28 + 1, i % 3 ? "red" : "blue", i % 3, i % 4 + 1, 1 + rand() }' >kinds.csv
awk 'BEGIN { srand(3); print "a,b,c,y"; for (i = 0; i < 400; i++) { a = rand(); b = rand(); c = rand(); printf "%.3f,%.3f,%.3f,%.3f\n", a, b, c, sin(9 * (a - b)) + c } }' >sums.csv

"$make_checkpoint" "$corpus/checkpoint"
head -c 300 "$corpus/checkpoint/run" >"$corpus/checkpoint/cut"

# Every form and map of a model file.
model() { # NAME ARGUMENTS...
  "$advgp" train two.csv --target y -q -o m.safetensors "${@:2}" >/dev/null
  cp m.safetensors "$corpus/modelfile/$1"
}
for map in cholesky nystrom ensemble rvm; do model $map --map $map -m 4 --components 2 --epochs 1; done
for method in linear mean exact; do model $method --method $method; done
"$advgp" train sums.csv --target y -q -o m.safetensors --directions 2 --method advgp -m 4 --components 1 --epochs 1 --noise constant >/dev/null
cp m.safetensors "$corpus/modelfile/directions"
head -c 700 "$corpus/modelfile/cholesky" >"$corpus/modelfile/cut"

schema() { # NAME: of a packed folder
  perl -MJSON::PP -0777 -e 'print JSON::PP->new->canonical->encode(JSON::PP->new->decode(<>)->{schema})' "$1.packed/manifest.json" >"$corpus/schema/$1"
}
# A folder as one input: see fuzz_packed.c.
pack() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$advgp" pack "$@" --target y --shards 1 -q -o "$name.packed" >/dev/null
  perl -MJSON::PP -0777 -e 'my @b; for (qw(manifest.json shard-0000.bin stop.bin calibrate.bin)) {
      open my $f, "<:raw", "$ARGV[0]/$_" or die; my $t = <$f>;
      $t = JSON::PP->new->canonical->encode(JSON::PP->new->decode($t)) if /json/; push @b, $t }
    binmode STDOUT; print pack("v3", map length, @b[0 .. 2]), @b' "$name.packed" >"$corpus/packed/$name"
  schema "$name"
}
pack two two.csv
pack kinds kinds.csv --weights w --values float64 --encode shop=target
"$advgp" pack sums.csv --target y --shards 1 --directions 2 -q -o directions.packed >/dev/null
schema directions
ls -l "$corpus"/{modelfile,schema,checkpoint,packed}
