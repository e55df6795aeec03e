#!/usr/bin/env bash
# advgp keygen: what it makes, what it refuses to touch, what it says.        keygen.sh ADVGP MAKE_MODEL
set -uo pipefail
if [[ -z ${KEYGEN_UMASK-} ]]; then # all of it once as most people have it, once as where a group shares its files
  for mask in 022 002; do KEYGEN_UMASK=$mask "$0" "$@" || exit; done
  exit 0
fi
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
umask "$KEYGEN_UMASK"
if "$advgp" info | grep -q 'zmq (not here'; then
  "$advgp" keygen keys 2> err.txt; [[ $? == 2 ]] || miss "keygen without ZeroMQ: not exit 2"
  grep -q 'libzmq3-dev' err.txt || miss "keygen without ZeroMQ does not say how to get it"
  [[ ! -e keys ]] || miss "keygen without ZeroMQ left a folder"
  exit $bad
fi

# good ARGUMENTS...: exit 0, nothing on stderr
good() {
  seen=$((seen + 1))
  "$advgp" "$@" > out.txt 2> err.txt || miss "advgp $*: exit $?: $(head -c 300 err.txt)"
  [[ ! -s err.txt ]] || miss "advgp $*: said $(head -c 300 err.txt)"
}
# try CODE "piece of the message" ARGUMENTS...: and nothing changes
try() {
  local code=$1 piece=$2 got before; shift 2
  seen=$((seen + 1))
  before=$(find . -mindepth 1 -not -name '*.txt' -printf '%p %s %m %y %T@\n' | grep -v ' d [0-9.]*$' | sort)
  "$advgp" "$@" > out.txt 2> err.txt; got=$?
  [[ $got == "$code" ]] || miss "advgp $*: exit $got, not $code: $(head -c 300 err.txt)"
  grep -qF -- "$piece" err.txt || miss "advgp $*: '$piece' is not in: $(head -c 400 err.txt)"
  [[ ! -s out.txt ]] || miss "advgp $*: it printed $(head -c 100 out.txt)"
  [[ $(find . -mindepth 1 -not -name '*.txt' -printf '%p %s %m %y %T@\n' | grep -v ' d [0-9.]*$' | sort) == "$before" ]] || miss "advgp $*: it left or changed a file"
}
mode() { local got; got=$(stat -c %a "$2"); [[ $got == "$1" ]] || miss "$2 has mode $got, not $1"; }
value() { sed -n "s/^$2 = //p" "$1"; }

good keygen keys
grep -q 'worker.key and server.pub' out.txt || miss "keygen does not say what a worker needs"
[[ $(ls keys | tr '\n' ' ') == "allow server.key server.pub worker.key worker.pub " ]] || miss "keygen made $(ls keys)"
mode 700 keys; mode 600 keys/server.key; mode 600 keys/worker.key; mode 600 keys/allow; mode 644 keys/server.pub
for name in server worker; do
  [[ $(value keys/$name.key public) == "$(value keys/$name.pub public)" ]] || miss "$name.key and $name.pub differ"
  [[ $(value keys/$name.key public | wc -c) == 41 && $(value keys/$name.key secret | wc -c) == 41 ]] || miss "keys of $name are not 40 letters"
  ! grep -q secret keys/$name.pub || miss "$name.pub has a secret"
done
grep -qF -- "$(value keys/worker.pub public)" keys/allow || miss "allow lacks the worker"
! grep -qF -- "$(value keys/worker.key secret)" out.txt keys/allow keys/*.pub || miss "a secret got out"

# nothing is replaced
try 2 "keys/server.key exists already" keygen keys
rm keys/server.key; try 2 "keys/server.pub exists already" keygen keys
rm keys/server.pub keys/worker.*; try 2 "keys/allow exists already" keygen keys
rm keys/allow; good keygen keys
mkdir -m 755 mine; echo notes > mine/notes; good keygen mine/; mode 755 mine; [[ $(cat mine/notes) == notes ]] || miss "keygen touched another file"

# one more worker
good keygen keys --worker node1
good keygen keys --worker node-2.gpu
mode 600 keys/node1.key; mode 644 keys/node1.pub
[[ $(grep -vc '^#' keys/allow) == 3 ]] || miss "allow has $(grep -vc '^#' keys/allow) keys, not 3"
grep -qF -- "$(value keys/node1.pub public)  # node1" keys/allow || miss "allow lacks node1"
try 2 "keys/node1.key exists already" keygen keys --worker node1
try 2 "keys/worker.key exists already" keygen keys --worker worker
for name in ../evil a/b .. -x server allow 'a b' $'a\nb'; do try 2 "cannot name a worker's key" keygen keys "--worker=$name"; done
try 2 "--worker" keygen keys --worker ''
try 3 "nowhere" keygen nowhere --worker node1
try 3 "allow" keygen tmp --worker node1
echo nonsense >> keys/allow; try 4 "keys/allow is no public key" keygen keys --worker node3
sed -i '$d' keys/allow; chmod 666 keys/allow; try 4 "chmod 600 keys/allow" keygen keys --worker node3; chmod 600 keys/allow

# places that cannot be
try 1 "no/such/keys" keygen no/such/keys
touch file; try 1 "file" keygen file
try 2 "keygen needs DIR" keygen
try 2 "one too many" keygen a b
try 2 "--secret" keygen a --secret
if (( EUID != 0 )); then mkdir -m 500 locked; try 1 "locked" keygen locked; fi

# for programs
good keygen more --json
says() { seen=$((seen + 1)); grep -qF -- "$1" out.txt || miss "$1 is not in: $(cat out.txt)"; }
says '"folder": "more"'; says '"allow": "more/allow"'; says '"name": "worker"'
for name in server worker; do
  says "\"$name\": {\"secret_file\": \"more/$name.key\", \"public_file\": \"more/$name.pub\", \"public_key\": \"$(value more/$name.pub public)\"}"
  ! grep -qF -- "$(value more/$name.key secret)" out.txt || miss "keygen --json prints a secret"
done
good keygen more/ --worker w3 --json
says '"secret_file": "more/w3.key"'; ! grep -q '"server"' out.txt || miss "keygen --worker --json speaks of the server"

# several at once: every one has its line
for i in 1 2 3 4 5 6; do "$advgp" keygen more --worker at-once-$i > /dev/null & done; wait
[[ $(grep -vc '^#' more/allow) == 8 ]] || miss "six added at once: allow has $(grep -vc '^#' more/allow) keys, not 8"
: > won.txt
for i in 1 2 3 4; do ( "$advgp" keygen race > /dev/null 2>&1 && echo won >> won.txt ) & done; wait
[[ $(wc -l < won.txt) == 1 ]] || miss "$(wc -l < won.txt) made the same folder"
[[ -z $(find . -name '.advgp-*') ]] || miss "left behind: $(find . -name '.advgp-*')"
(( bad == 0 )) && echo "$seen promises kept"
exit $bad
