#!/usr/bin/env bash
# What another user of the machine can lay in a shared temporary folder: pipes, links and folders under the names that
# advgp would use. No secret goes there, no file of the victim is replaced, and nothing waits. Needs root, to be two users.
#   two_users.sh ADVGP
set -uo pipefail
skip() { echo "skipped: $*"; exit 77; }
(($(id -u) == 0)) || skip 'only root can be two users'
command -v setpriv > /dev/null || skip 'no setpriv'
advgp=$1 bad=0 seen=0 me=4242 they=4343
# shellcheck source=../limits.sh
source "$(dirname "$0")/../limits.sh"
limit=$hang
export OPENBLAS_NUM_THREADS=1 LC_ALL=C
unset XDG_RUNTIME_DIR TMPDIR
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
as $me "$advgp" info > /dev/null 2>&1 || skip "user $me may not run $advgp"
own=/tmp/advgp-$me
[[ ! -e $own && ! -L $own ]] || skip "$own is there already"
dir=$(mktemp -d /tmp/advgp-two-XXXXXX) || exit 1
trap 'rm -rf "$dir" "$own" /tmp/advgp-'$me'-*.rendezvous' EXIT
chmod 755 "$dir" && cd "$dir" || exit 1
mkdir home shared && chown $me home && chmod 700 home && chmod 1777 shared
miss() { echo "FAILED: $*"; bad=1; }
awk 'BEGIN { srand(1); print "a,y"; for (i = 0; i < 200; i++) { a = rand(); print a "," sin(6 * a) } }' > t.csv
thesis() { as $me sh -c 'echo chapter one > home/thesis'; }
thesis
train=(train "$dir/t.csv" --target y --features a -m 5 --components 1 --epochs 2)
output=(-q -o "$dir/home/m.safetensors")
lead=("${train[@]}" -o "$dir/home/m.safetensors" --cache "$dir/home/rows" --transport zmq --role server --listen 127.0.0.1:0 --workers 1 --wait $limit)

# refused NAME WORDS -- ARGUMENTS: the victim is told, in time, and the thesis is what it was.
refused() {
  local name=$1 words=$2; shift 3
  ((seen++))
  as $me timeout $limit "$advgp" "$@" > said.out 2> said.err < /dev/null
  local code=$?
  ((code != 0 && code < 124)) && grep -q -- "$words" said.err || miss "$name: exit $code: $(cat said.err)"
  [[ $(cat home/thesis) == 'chapter one' ]] || { miss "$name: the thesis is gone"; thesis; }
  [[ ! -s stolen ]] || miss "$name: a thief has read: $(head -c 200 stolen)"
}

# Under the name of the folder itself.
as $they ln -s "$dir/home" "$own"
refused 'a link to a folder of ours' 'not a folder of yours' -- "${lead[@]}"
rm "$own"; as $they mkdir -m 777 "$own"
refused 'a folder of theirs' 'not a folder of yours' -- "${lead[@]}"
rm -r "$own"; as $they mkfifo -m 666 "$own"
refused 'a pipe' 'not a folder of yours' -- "${lead[@]}"
rm "$own"; mkdir -m 755 "$own"; chown $me "$own"
refused 'ours, for others to read' 'not a folder of yours' -- "${lead[@]}"
rm -r "$own"

# A rendezvous that the victim named, in a shared folder.
as $they ln -s "$dir/home/thesis" shared/link
as $they ln -s "$dir/home/new" shared/dangling
as $they mkfifo -m 666 shared/pipe
: > stolen; chown $they stolen
as $they timeout $limit cat shared/pipe > stolen 2> /dev/null & reader=$!
refused 'a rendezvous that is a link' 'link' -- "${lead[@]}" --rendezvous "$dir/shared/link"
refused 'a rendezvous that is a link to nothing' 'link' -- "${lead[@]}" --rendezvous "$dir/shared/dangling"
refused 'a rendezvous that is a pipe' 'not a file\|no file' -- "${lead[@]}" --rendezvous "$dir/shared/pipe"
refused 'a worker there' 'link' -- work --rendezvous "$dir/shared/link" --wait 5
timeout 5 dd if=/dev/null of=shared/pipe conv=nocreat 2> /dev/null # its end
wait $reader
refused 'a pipe that nobody reads' 'not a file\|no file' -- "${lead[@]}" --rendezvous "$dir/shared/pipe"

# A log, a model, a report.
refused 'a log through a link' 'laid there by user' -- "${train[@]}" "${output[@]}" --log "$dir/shared/link" --force
refused 'a log through a link to nothing' 'laid there by user' -- "${train[@]}" "${output[@]}" --log "$dir/shared/dangling"
refused 'a log into a pipe' 'laid there by user' -- "${train[@]}" "${output[@]}" --log "$dir/shared/pipe"
refused 'a model through a link' 'laid there by user' -- "${train[@]}" -o "$dir/shared/link" --force
refused 'a report into a pipe' 'laid there by user' -- "${train[@]}" "${output[@]}" --report "$dir/shared/pipe"
[[ ! -e home/new ]] || miss 'a link to nothing was followed'
as $me ln -s "$dir/home/new" home/dangling
refused 'a log through a link of our own to nothing' 'exists' -- "${train[@]}" "${output[@]}" --log "$dir/home/dangling"
[[ ! -e home/new ]] || miss 'our link to nothing was followed'

# And a training that nobody disturbs, whose lead finds its worker by the port alone.
as $me timeout $limit "$advgp" "${lead[@]}" > lead.out 2> lead.err < /dev/null & pid=$!
until_found 'join with' lead.err $pid
at=$(sed -nE 's/.*join with advgp work --server ([^;]+);.*/\1/p' lead.err)
file=$own/advgp-$me-${at##*:}.rendezvous
[[ $(stat -c '%u %a' "$own") == "$me 700" && $(stat -c '%u %a' "$file") == "$me 600" ]] ||
  miss "the rendezvous: $(ls -ld "$own" "$file" 2>&1)"
as $they cat "$file" > stolen 2> /dev/null && miss 'another user reads the rendezvous'
as $they timeout $limit "$advgp" work --server "$at" --wait 5 > thief.out 2> thief.err < /dev/null && miss 'another user works'
as $me timeout $limit "$advgp" work --server "$at" > work.out 2> work.err < /dev/null || miss "a worker: $(cat work.err)"
wait $pid || miss "a lead: $(cat lead.err)"
[[ -s home/m.safetensors && ! -e $file ]] || miss 'no model, or the rendezvous stayed'
((seen++))
((bad == 0)) && echo "$seen cases of two users"
exit $bad
