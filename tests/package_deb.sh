#!/usr/bin/env bash
# The Debian package: made, installed by dpkg, used and removed. All of that in a mount namespace with a layer over the file system
# that is thrown away: this machine stays as it is.
#   package_deb.sh SOURCE BUILD
set -euo pipefail
source_dir=$(realpath "$1") build=$(realpath "$2")
for tool in dpkg-deb dpkg-shlibdeps unshare; do command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }; done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
package=$(ADVGP_DEB_COMPRESSION=none "$source_dir/scripts/package-deb" "$build" "$scratch")
dpkg-deb -f "$package" Depends | grep -q libopenblas || { echo "FAILED: it does not depend on OpenBLAS: $(dpkg-deb -f "$package" Depends)"; exit 1; }
! dpkg-deb -f "$package" Depends | grep -q mpi || { echo "FAILED: it depends on MPI: $(dpkg-deb -f "$package" Depends)"; exit 1; }
[[ ! -e $build/libadvgp_mpi.so ]] || dpkg-deb -f "$package" Suggests | grep -q mpi || { echo 'FAILED: it does not suggest MPI'; exit 1; }
dpkg-deb -c "$package" >"$scratch/contents"
grep -q 'share/doc/advgp/copyright' "$scratch/contents" || { echo 'FAILED: no copyright'; exit 1; }

mkdir "$scratch/layer"
cat >"$scratch/inside.sh" <<'END'
set -e
cd /tmp
dpkg -i advgp.deb >/dev/null
[ "$(command -v advgp)" = /usr/bin/advgp ]
awk 'BEGIN { srand(1); print "x,y"; for (i = 0; i < 200; i++) { x = rand(); print x "," sin(6 * x) } }' >rows.csv
advgp train rows.csv --target y -o m.safetensors --quiet
advgp predict m.safetensors rows.csv -o answers.csv
[ "$(wc -l <answers.csv)" = 201 ]
printf '#include <advgp.h>\n#include <stdio.h>\nint main(void) { return puts(advgp_version()) < 0; }\n' >use.c
cc use.c -o use -ladvgp && ./use
gzip -t /usr/share/man/man1/advgp.1.gz
dpkg -r advgp >/dev/null
! test -e /usr/bin/advgp && ! test -e /usr/lib/libadvgp.so && ! test -d /usr/lib/advgp
echo removed
END
export scratch package
if ! unshare -m true 2>/dev/null; then echo 'skipped: mount namespaces are not permitted'; exit 77; fi
# shellcheck disable=SC2016
unshare -m bash -euc '
  mount -t tmpfs none "$scratch/layer"
  mkdir "$scratch"/layer/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/layer/upper,workdir=$scratch/layer/work" "$scratch/layer/root" || exit 77
  mount --rbind /dev "$scratch/layer/root/dev"; mount -t proc none "$scratch/layer/root/proc"
  mount -t tmpfs none "$scratch/layer/root/tmp"
  cp "$package" "$scratch/layer/root/tmp/advgp.deb"; cp "$scratch/inside.sh" "$scratch/layer/root/tmp/"
  exec chroot "$scratch/layer/root" /bin/bash /tmp/inside.sh' >"$scratch/out" 2>&1 || status=$?
[[ ${status-0} == 77 ]] && { echo 'skipped: no overlay file system'; exit 77; }
grep -qx removed "$scratch/out" || { echo 'FAILED:'; tail -n 20 "$scratch/out"; exit 1; }
echo 'made, installed, used and removed: 0 failed'
