#!/usr/bin/env bash
# What pack refuses, and packed folders that train refuses: exit code, what the message must name, the arguments.
#   pack_bad.sh ADVGP
# shellcheck source=train_common.sh
source "$(dirname "$0")/train_common.sh"

table 60 >in/good.csv
table 500 2 >in/rows.csv
: >in/empty.csv
with constant.csv 'NR > 1 { $3 = 4.25 } 1'
with ragged.csv 'NR == 31 { $0 = $0 ",7" } 1'
with text.csv 'NR == 31 { $3 = "plenty" } 1'
with zero.csv 'NR == 31 { $3 = -1 } 1'
with weights.csv '{ $4 = NR == 1 ? "w" : NR == 31 ? -2 : 1 } 1'
head -c 20000 /dev/urandom >in/junk.csv
y=(--target y)

# What was there before: a packed folder, a folder of photographs, a file.
"$advgp" pack in/rows.csv "${y[@]}" --shards 2 -q -o out/packed >/dev/null || tell 'packing for the tests'
mkdir out/photographs && echo 1 >out/photographs/cat.jpg
echo text >out/file
p() { bad "$1" "${@:2}" -o out/packed; }

# ---- pack -------------------------------------------------------------------------------------------------------------
p 'no such file'         3 'in/absent.csv' -- pack in/absent.csv "${y[@]}"
p 'empty file'           3 'in/empty.csv' 'empty' -- pack in/empty.csv "${y[@]}"
p 'no such target'       3 "'z'" 'x1, x2, y' -- pack in/good.csv --target z
p 'no target'            2 '--target' -- pack in/good.csv
p 'constant target'      3 "'y'" '4.25' -- pack in/constant.csv "${y[@]}"
p 'ragged row'           3 'in/ragged.csv' '31' -- pack in/ragged.csv "${y[@]}"
p 'text in the target'   3 'in/text.csv' "'plenty'" -- pack in/text.csv "${y[@]}"
p 'negative logarithm'   3 'row 30' '--log-target' -- pack in/zero.csv "${y[@]}" --log-target
p 'negative weight'      3 'row 30' "'w'" '-2' -- pack in/weights.csv "${y[@]}" --weights w
p 'junk'                 3 'in/junk.csv' -- pack in/junk.csv "${y[@]}"
p 'no shards'            2 '--shards' '0' -- pack in/good.csv "${y[@]}" --shards 0
p 'too many shards'      2 '--shards' -- pack in/good.csv "${y[@]}" --shards 99999999
p 'bad values'           2 '--values' 'float16' 'float32' -- pack in/good.csv "${y[@]}" --values float16
p 'an option of train'   2 '--epochs' -- pack in/good.csv "${y[@]}" --epochs 3
p 'validation by file'   2 '--validation' 'in/rows.csv' 'fraction' -- pack in/good.csv "${y[@]}" --validation in/rows.csv
p 'packed already'       2 'out/packed' 'already' -- pack out/packed
p 'packed among others'  2 'out/packed' 'what is read' -- pack in/good.csv out/packed "${y[@]}"
p 'a file of the output' 2 'out/packed' 'what is read' -- pack out/packed/manifest.json "${y[@]}"
p 'SQL with a typo'      2 '--sql' -- pack in/good.csv "${y[@]}" --sql 'SELECT FROM WHERE'
bad 'no output'          2 '--output' -- pack in/good.csv "${y[@]}"
bad 'into photographs'   2 'out/photographs' 'another name' -- pack in/good.csv "${y[@]}" -o out/photographs
bad 'onto a file'        2 'out/file' 'another name' -- pack in/good.csv "${y[@]}" -o out/file
bad 'into no folder'     1 'out/absent' -- pack in/good.csv "${y[@]}" -o out/absent/packed
bad 'under a file'       1 'in/good.csv/packed' -- pack in/good.csv "${y[@]}" -o in/good.csv/packed
bad 'output of no name'  2 '--output' -- pack in/good.csv "${y[@]}" --output=
mkdir small
if mount -t tmpfs -o size=64k,nr_inodes=200 none small 2>/dev/null; then
  mounted=$scratch/small
  table 3000 3 >in/many.csv
  bad 'full disk'        1 'space' 'small/packed' -- pack in/many.csv "${y[@]}" --values float64 -o small/packed
  [[ -z $(ls -A small) ]] || tell "full disk: left behind $(ls -A small)"
  good 'a small one fits' -- pack in/good.csv "${y[@]}" --shards 1 -o small/packed
  before=$(cd small && find . -type f -exec cksum {} + | sort)
  bad 'full disk again'  1 'space' 'small/packed' -- pack in/many.csv "${y[@]}" --values float64 -o small/packed
  [[ $(cd small && find . -type f -exec cksum {} + | sort) == "$before" ]] || tell 'full disk: the packed folder changed'
  umount small && mounted=
else
  echo 'skipped: a full disk (no right to mount a tmpfs)'
fi

# ---- packed folders -----------------------------------------------------------------------------------------------------
looks_like model >out/model.safetensors
o=(-q -m 5 --epochs 1 -o out/model.safetensors)
flip() { perl -e 'local $/; my $b = <STDIN>; substr($b, $ARGV[0], 1) ^= chr(4); print $b' "$2" <"$1" >flipped && mv flipped "$1"; }
# damaged NAME: a fresh copy in/NAME of the packed folder, to be spoilt
damaged() { rm -rf "in/$1" && cp -r out/packed "in/$1"; }
d() { bad "$1" "${@:2}" "${o[@]}"; }

shard=shard-0000.bin
[[ -f out/packed/$shard ]] || tell "no $shard in $(ls out/packed)"
size=$(stat -c %s out/packed/$shard)
damaged head && flip in/head/$shard 20
d 'a bit in a head'      4 "in/head/$shard" 'pack' -- train in/head
damaged magic && flip in/magic/$shard 0
d 'a bit in the magic'   4 "in/magic/$shard" -- train in/magic
damaged table && flip in/table/$shard 66
d 'a bit in the hashes'  4 "in/table/$shard" -- train in/table
damaged block && flip in/block/$shard $((size / 2))
d 'a bit in a block'     4 "in/block/$shard" 'block' -- train in/block
damaged last && flip in/last/$shard $((size - 1))
d 'the last bit'         4 "in/last/$shard" 'block' -- train in/last
# Read by a worker alone, whose own words are the message.
table 20000 >in/more.csv
"$advgp" pack in/more.csv "${y[@]}" --shards 2 -q -o in/late >/dev/null
flip in/late/shard-0001.bin $(($(stat -c %s in/late/shard-0001.bin) - 64))
for n in 1 2; do
  d "a block that $n workers come to later" 4 'in/late/shard-0001.bin' 'block' 'pack the data again' -- \
    train in/late --components 1 --start-rows 10 --workers "$n"
done
damaged stop && flip in/stop/stop.bin $(($(stat -c %s in/stop/stop.bin) - 70))
d 'held-out rows'        4 'in/stop/stop.bin' 'block' -- train in/stop
damaged gone && rm in/gone/$shard
d 'a shard gone'         4 "in/gone/$shard" 'No such file' 'pack' -- train in/gone
damaged cut && truncate -s $((size - 64)) in/cut/$shard
d 'a shard cut off'      4 "in/cut/$shard" 'pack' -- train in/cut
damaged swap && mv in/swap/$shard in/swap/x && mv in/swap/shard-0001.bin in/swap/$shard && mv in/swap/x in/swap/shard-0001.bin
d 'shards exchanged'     4 'in/swap/shard-' -- train in/swap
"$advgp" pack in/rows.csv "${y[@]}" --seed 5 --shards 2 -q -o in/seeded >/dev/null
damaged foreign && cp in/seeded/$shard in/foreign/
d 'a foreign shard'      4 "in/foreign/$shard" -- train in/foreign
damaged folder && rm in/folder/$shard && mkdir in/folder/$shard
d 'a folder as a shard'  4 "in/folder/$shard" -- train in/folder
damaged manifest && truncate -s 500 in/manifest/manifest.json
d 'manifest cut off'     4 'in/manifest/manifest.json' 'JSON' -- train in/manifest
damaged none && : >in/none/manifest.json
d 'manifest empty'       4 'in/none/manifest.json' -- train in/none
damaged version && sed -i 's/"version": 2,/"version": 9,/' in/version/manifest.json
d 'a newer version'      4 'in/version/manifest.json' '9' -- train in/version
damaged columns && sed -i 's/"columns": 2/"columns": 3/' in/columns/manifest.json
d 'another width'        4 'in/columns' -- train in/columns
damaged rows && sed -i '0,/"rows": [0-9]*/s//"rows": 99999999999/' in/rows/manifest.json
d 'another row count'    4 'in/rows/manifest.json' 'rows' -- train in/rows
damaged all && sed -i 's/"rows": [0-9]*/"rows": 99999999999/' in/all/manifest.json
d 'absurd row counts'    4 'in/all/' -- train in/all
damaged lost && rm in/lost/manifest.json
d 'manifest lost'        4 'in/lost/manifest.json' 'No such file' -- train in/lost
damaged scale && sed -i 's/"y_scale": [-0-9.e]*/"y_scale": 0.0/' in/scale/manifest.json
d 'a scale of 0'         4 'in/scale/manifest.json' 'scale' -- train in/scale
damaged other && echo '{"name": "somebody else"}' >in/other/manifest.json
d 'a foreign manifest'   4 'in/other/manifest.json' -- train in/other
d 'another target'       2 '--target' 'x1' "out/packed" ' y' -- train out/packed --target x1
d 'other features'       2 '--features' 'out/packed' -- train out/packed --features x1
d 'another validation'   2 '--validation' 'out/packed' -- train out/packed --validation 0.1
d 'a query over shards'  2 '--sql' 'out/packed' -- train out/packed --sql 'SELECT * FROM packed'
d 'weights afterwards'   2 '--weights' 'out/packed' -- train out/packed --weights x1
d 'packed and a file'    3 'out/packed' -- train out/packed in/good.csv --target y
good 'the same target'   -- train out/packed --target y -m 5 --epochs 1 -o kept.safetensors

# ---- a shard that is cut off while a training reads it ------------------------------------------------------------------
n_cases=$((n_cases + 1))
cp -r out/packed in/shrinks
"${bounded[@]}" "$advgp" train in/shrinks -m 5 --components 1 --epochs 1e6 --patience inf --log out/cut.log -o out/cut >said.out 2>said.err &
until_found '"event":"advance"' out/cut.log $!
truncate -s 64 in/shrinks/$shard
wait $!
code=$?
[[ $code == 4 ]] && grep -q "^advgp: in/shrinks/$shard: it was cut off" said.err || tell "cut off during a run: exit $code: $(tail -n 1 said.err)"

end_report 46
