#!/usr/bin/env bash
# What `cmake --install` makes, target `uninstall` removes, and nothing else.
#   uninstall.sh BUILD_FOLDER FOLDER
set -euo pipefail
build="$1" folder="$2"
rm -rf -- "$folder" "$build/new_folders.txt"
mkdir -p "$folder/mine/share"
: > "$folder/mine/share/note"
# An empty entry of a path is the folder that a job is started in.
no_empty_entries() {
  local path
  for file in "$@"; do
    path="$(readelf -d "$file" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')"
    [[ ":$path:" != *::* ]] || [ -z "$path" ] || { echo "$file looks in $path"; exit 1; }
  done
}
no_empty_entries "$build/d9d-node" "$build"/libd9d*.so
before="$(find "$folder" | sort)"
for prefix in "$folder/mine" "$folder/new"; do
  cmake --install "$build" --prefix "$prefix" > "$folder.log"
  [ "$("$prefix/bin/d9d-node" --cmake-prefix)" = "$prefix" ] || { echo "--cmake-prefix is not $prefix"; exit 1; }
  "$prefix/bin/d9d-node" --version | grep -q '^LibTorch [0-9.]*' || { echo "--version does not name LibTorch"; exit 1; }
  no_empty_entries "$prefix/bin/d9d-node" "$prefix"/lib/d9d/*.so
  [ -s "$prefix/share/man/man1/d9d-node.1" ] && [ -s "$prefix/share/bash-completion/completions/d9d-node" ]
  cmake -P "$build/uninstall.cmake"
done
[ "$(find "$folder" | sort)" = "$before" ] || { echo "these are left:"; find "$folder"; exit 1; }
! cmake -P "$build/uninstall.cmake" 2> "$folder.log" || { echo "a second time it removes nothing"; exit 1; }
grep -q "nothing was installed" "$folder.log"
