#!/usr/bin/env bash
# Both README commands in an empty root, as somebody meets d9d who has nothing but the release of a distribution, timed.
# Needs root and debootstrap. Not part of CI: it loads some 2 GB and compiles everything.
usage="usage: bash tests/fresh/run.sh bookworm|trixie|noble [--first] [--keep]
  --first  only the first command, with a few steps of training
  --keep   leave the root for a look at it (else it is removed)
  D9D_FRESH      the folder of the root (/var/tmp/d9d-fresh-RELEASE)
  D9D_TORCH      which LibTorch (.ci/deps)"
set -euo pipefail

release="${1:?"$usage"}" first=false keep=false
for option in "${@:2}"; do
  case "$option" in
    --first) first=true ;;
    --keep) keep=true ;;
    *) echo "unknown option $option"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
case "$release" in
  bookworm | trixie) mirror=http://deb.debian.org/debian components=main script="$release" ;;
  noble) mirror=http://archive.ubuntu.com/ubuntu components=main,universe script=gutsy ;;
  *) echo "the release is $release, expected bookworm, trixie or noble"$'\n'"$usage" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "an empty root is made by debootstrap, which needs root" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; exit 1; }
root="${D9D_FRESH:-/var/tmp/d9d-fresh-$release}"
[ ! -e "$root" ] || { echo "$root is there already: remove it, or set D9D_FRESH" >&2; exit 1; }
sources="$(cd "$(dirname "$0")/../.." && pwd)"

rows=()
# WHAT COMMAND...: a row of the table. A command that fails ends the run.
timed() {
  local what="$1" begin=$SECONDS result=ok
  shift
  "$@" > "$root.log" 2>&1 || result="failed"
  rows+=("$(printf '| %-40s | %7d | %-6s |' "$what" $((SECONDS - begin)) "$result")")
  echo "${rows[-1]}"
  [ "$result" = ok ] || { tail -n 40 "$root.log" >&2; return 1; }
}
# Its mounts vanish with it. A host whose pip trusts a certificate of its own hands that on.
inside() {
  unshare --mount --propagation private -- bash -euc '
    root="$1"
    shift
    mount --rbind "$root" "$root"  # a mount point: the tests make network namespaces, which change how / is mounted
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount -t proc proc "$root/proc"
    exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 D9D_CUDA=0 \
      ${D9D_TORCH:+"D9D_TORCH=$D9D_TORCH"} ${PIP_CERT:+"PIP_CERT=/root/pip.pem"} bash -euc "cd /root/d9d; $*"
  ' inside "$root" "$@"
}
clean() { $keep || rm -rf --one-file-system "$root"; }
trap clean EXIT
timed "an empty $release" debootstrap --variant=minbase --components="$components" "$release" "$root" "$mirror" "$script"
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ -z "${PIP_CERT:-}" ] || cp "$PIP_CERT" "$root/root/pip.pem"
timed "a clone" git clone -q "file://$sources" "$root/root/d9d"
timed "packages and LibTorch (.ci/deps)" inside bash .ci/deps
if $first; then
  timed "build, train, write: quickstart --smoke" inside bash examples/quickstart.sh --smoke
else
  timed "build, train, write: quickstart" inside bash examples/quickstart.sh
  timed "build and run all tests: tests/run.sh" inside bash tests/run.sh
fi
compilers="$(inside 'gcc -dumpfullversion; cmake --version' | sed -nE '1s/^/GCC /p;2s/.*version/CMake/p' | paste -sd ' ')"
echo
printf '%s\n' "$release, $compilers, $(nproc) cores, $(date +%F), $(git -C "$sources" rev-parse --short HEAD)" \
  '| what                                     | seconds | result |' '| --- | --- | --- |' "${rows[@]}"
