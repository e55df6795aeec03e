#!/usr/bin/env bash
# What is read is never written over, under whatever name; what is there is replaced only by its like or by --force; and
# what a training has found is kept somewhere, whatever fails at the end.
#   written.sh ADVGP MAKE_MODEL
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
exec 2>&1
cp t.csv data.csv
mkdir many && cp t.csv many/a.csv && cp few.csv many/b.csv
ln -s ../t.csv many/link.csv
ln -s t.csv soft.csv
ln t.csv hard.csv
ln -s many folder_link
echo 'dear diary' > diary.csv
"$advgp" pack t.csv --target y --shards 2 -q -o t.packed > /dev/null || miss 'packing'
"$advgp" train t.csv --target y -m 5 --components 1 --epochs 1 -q -o trained --log run.log > /dev/null || miss 'training'
state() { find . -path ./tmp -prune -o -type f -exec cksum {} + -o -printf '%p %l\n' | sort; }
before=$(state)

# refuse FRAGMENT ARGUMENTS: exit 2, the fragment in the message, nothing printed, nothing changed
refuse() {
  seen=$((seen + 1))
  local what=$1 code
  shift
  "${bounded[@]}" "$advgp" "$@" > tmp/out 2> tmp/err < "${input:-/dev/null}"
  code=$?
  [[ $code == 2 ]] || miss "advgp $*: exit $code, not 2: $(tail -n 1 tmp/err)"
  grep -qF -- "$what" tmp/err || miss "advgp $*: '$what' is not in: $(cat tmp/err)"
  [[ ! -s tmp/out ]] || miss "advgp $*: it printed $(head -c 100 tmp/out)"
  rm -f tmp/out tmp/err
  [[ $(state) == "$before" ]] || { miss "advgp $*: files changed: $(diff <(echo "$before") <(state))"; before=$(state); }
}
read='would overwrite what is read'
for force in '' --force; do
  for out in t.csv ./t.csv soft.csv hard.csv many/link.csv "$dir/t.csv"; do refuse "$read" predict m.safetensors t.csv -o $out $force; done
  refuse "$read" predict m.safetensors many -o many/a.csv $force
  refuse "$read" predict m.safetensors folder_link -o many/b.csv $force
  refuse "$read" predict m.safetensors 'many/*.csv' -o many/b.csv $force
  refuse "$read" predict m.safetensors few.csv t.csv -o t.csv $force
  input=t.csv refuse "$read" predict m.safetensors - -o t.csv $force
  for out in t.csv soft.csv hard.csv; do refuse "$read" train t.csv --target y -m 5 --epochs 1 -o $out $force; done
  refuse "$read" train many --target y -o many/b.csv $force
  refuse "$read" train few.csv --target y --test t.csv -o soft.csv $force
  refuse "$read" train few.csv --target y --validation t.csv -o soft.csv $force
  refuse "$read" train few.csv --target y --log soft.csv --test t.csv -o new $force
  refuse "$read" train t.csv --target y --checkpoint hard.csv -o new $force
  refuse "$read" train t.csv --target y --log many/link.csv -o new $force
  refuse "$read" train t.packed -o t.packed/manifest.json $force
  refuse "$read" train t.packed -o t.packed/new $force
  refuse "$read" train t.packed --log t.packed/stop.bin -o new $force
  refuse "$read" compare t.csv --target y --methods mean --log soft.csv $force
  refuse "$read" replay run.log -o run.log $force
done
refuse "$read" replay run.log -o t.csv --force

# Results that are printed onto what is read: nothing is added, whatever the verb.
printed() { # FILE ARGUMENTS
  seen=$((seen + 1))
  local onto=$1 code
  shift
  "${bounded[@]}" "$advgp" "$@" >> "$onto" 2> tmp/err
  code=$?
  [[ $code == 2 ]] && grep -q 'standard output would overwrite what is read' tmp/err || miss "advgp $* >> $onto: exit $code: $(cat tmp/err)"
  rm -f tmp/err
  [[ $(state) == "$before" ]] || { miss "advgp $* >> $onto: files changed"; before=$(state); }
}
printed hard.csv predict m.safetensors t.csv
printed t.csv predict m.safetensors many -o new.csv --json
printed t.csv evaluate m.safetensors soft.csv
printed m.safetensors inspect m.safetensors
printed t.csv train t.csv --target y -o new
printed few.csv train t.csv --target y --test few.csv -o new
printed t.packed/manifest.json train t.packed -o new
printed t.csv pack t.csv --target y -o new.packed
printed t.csv compare t.csv --target y --methods mean
printed run.log replay run.log -o new

# A packed folder is replaced as a whole, so nothing else may lie in it; other folders are never replaced.
mkdir t.packed/notes && echo 'dear diary' > t.packed/notes/today && ln -s t.packed packed_link && before=$(state)
refuse 'notes in it is no part of packed data' pack t.csv --target y -o t.packed
refuse 'is a link' pack t.csv --target y -o packed_link
refuse 'is no packed data' pack few.csv --target y -o many
rm -r t.packed/notes packed_link && before=$(state)
refuse "$read" pack t.packed/manifest.json --target y -o t.packed
refuse "$read" train t.csv --target y --dry-run -o t.csv
refuse 'two of them are' train t.csv --target y -o new --log ./new
refuse 'no model of advgp' train t.csv --target y -o diary.csv
refuse 'no model of advgp' train t.csv --target y --dry-run -o diary.csv
refuse 'no model of advgp' replay run.log -o diary.csv
refuse 'no log of advgp' train t.csv --target y -o new --log diary.csv
refuse 'no log of advgp' compare t.csv --target y --methods mean --log diary.csv
refuse 'no checkpoint of advgp' train t.csv --target y -o new --checkpoint diary.csv
refuse 'no checkpoint of advgp' train t.csv --target y -o new --checkpoint trained
refuse 'no table of predictions' predict m.safetensors t.csv -o diary.csv
refuse 'no table of predictions' predict m.safetensors t.csv -o few.csv

# accept ARGUMENTS: exit 0
accept() {
  seen=$((seen + 1))
  "${bounded[@]}" "$advgp" "$@" > tmp/out 2> tmp/err || miss "advgp $*: exit $?: $(cat tmp/err)"
}
accept predict m.safetensors t.csv -o kept.csv
accept predict m.safetensors t.csv -o kept.csv # its own predictions
accept predict m.safetensors t.csv -o diary.csv --force
for end in parquet jsonl; do accept predict m.safetensors t.csv -o p.$end && accept predict m.safetensors t.csv -o p.$end; done
accept predict m.safetensors many -o many/new.csv
echo 'dear diary' > diary
accept replay run.log -q -o trained
accept train t.csv --target y -m 5 --components 1 --epochs 1 -q -o trained --start trained --log run.log
accept train t.csv --target y -m 5 --components 1 --epochs 1 -q -o diary --force
[[ $(head -n 1 t.csv) == id,a,b,color,when,y && $(wc -l < t.csv) == 401 ]] || miss 'the data were changed'

# A folder that is gone when the model is ready: beside the checkpoint, then in the temporary folder.
rescue() { # NAME CHECKPOINT WHERE
  seen=$((seen + 1))
  mkdir gone
  mkfifo tmp/rows # it reads only when the folder is gone
  "$advgp" train tmp/rows --target y -m 5 --components 1 --epochs 1 -q -o gone/m --checkpoint "$2" > tmp/out 2> tmp/err & local pid=$!
  { rm -rf gone; cat t.csv; } > tmp/rows # opens when the program has begun to read, and has looked at the folder
  wait $pid
  local code=$? kept
  kept=$(sed -n 's/.*the model is kept in \([^:]*\): .*/\1/p' tmp/err)
  [[ $code == 1 && $kept == $3/advgp-rescued-* ]] || miss "$1: exit $code: $(cat tmp/err)"
  grep -q RMSE tmp/out || miss "$1: no figures"
  [[ $(stat -c %a "$kept") == 600 ]] || miss "$1: others may read it: $(stat -c %a "$kept")"
  "$advgp" predict "$kept" few.csv > tmp/out 2> tmp/err && [[ $(wc -l < tmp/out) == 21 ]] || miss "$1: no good model: $(cat tmp/err)"
  rm -rf tmp/* "$kept" gone
}
rescue 'beside the checkpoint' many/c many
rescue 'in the temporary folder' gone/c "$TMPDIR"
(( bad == 0 )) && echo "$seen cases of what is written"
exit $bad
