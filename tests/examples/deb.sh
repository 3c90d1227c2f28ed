#!/usr/bin/env bash
# The .deb: what dpkg is told, and the program in it, unpacked as dpkg does. Debian and Ubuntu alone.
#   deb.sh BUILD_FOLDER TORCH_FOLDER VERSION FOLDER
set -euo pipefail
build="$1" torch="$2" version="$3" folder="$4"
command -v dpkg-deb > /dev/null && command -v dpkg-shlibdeps > /dev/null || { echo "no dpkg here"; exit 77; }
stop() { echo "deb.sh: $*" >&2; exit 1; }
rm -rf -- "$folder" "$build"/*.deb
mkdir -p "$folder"
cmake --build "$build" --target deb > "$folder.log" 2>&1 || { tail -n 20 "$folder.log"; stop "target deb failed"; }
package="$(echo "$build"/d9d-node_*.deb)"
[ "$(basename "$package")" = "d9d-node_${version}_$(dpkg --print-architecture).deb" ] || stop "it is called $package"

[ "$(dpkg-deb -f "$package" Package Version | tr '\n' ' ')" = "Package: d9d-node Version: $version " ] ||
  stop "$(dpkg-deb -f "$package" Package Version)"
depends="$(dpkg-deb -f "$package" Depends)"
for library in libc6 libcaf libcapnp libstdc++6 libyaml-cpp libssl; do
  [[ "$depends" == *"$library"* ]] || stop "it does not depend on $library: $depends"
done
# LibTorch is no package of Debian: d9d-node itself looks for it.
[[ "$depends" != *torch* ]] || stop "it depends on LibTorch: $depends"

dpkg-deb -x "$package" "$folder"
for file in bin/d9d-node lib/d9d/libd9d.so lib/cmake/d9d/d9dConfig.cmake include/d9d/runtime/task/task.hpp \
  share/man/man1/d9d-node.1 share/bash-completion/completions/d9d-node share/doc/d9d-node/examples/config_reference.md; do
  [ -e "$folder/usr/$file" ] || stop "/usr/$file is missing"
done
! find "$folder" -name 'libtorch*' -o -name 'libc10*' | grep . || stop "LibTorch is in it"
for file in "$folder"/usr/lib/d9d/*.so; do
  ! readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN\]' || stop "$file looks elsewhere"
done
env -i PATH="$PATH" D9D_TORCH="$torch" "$folder/usr/bin/d9d-node" --version | grep -q "in $torch/lib$" ||
  stop "it does not find LibTorch in $torch"
! env -i PATH="$PATH" D9D_TORCH="$folder" "$folder/usr/bin/d9d-node" --version 2> "$folder.log" || stop "it needs no LibTorch?"
grep -q "there is none in D9D_TORCH=$folder" "$folder.log" || { cat "$folder.log"; stop "it does not say that LibTorch is missing"; }
