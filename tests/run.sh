#!/usr/bin/env bash
# Installs what is missing, builds, runs all tests. Safe to repeat; fast the second time.
#   D9D_PROFILE   release (default) | dev | asan | tsan        extra arguments go to ctest
#   D9D_NIGHT     1: the long forms, too: every mesh, every order of work, every wait, every header alone; hours
#   D9D_TRACKERS  0: without the clients of W&B, MLflow and Aim, and the test that reads back from them
set -euo pipefail
cd "$(dirname "$0")/.."
profile="${D9D_PROFILE:-release}"

D9D_TRACKERS="${D9D_TRACKERS:-1}" bash .ci/deps
trackers="${XDG_CACHE_HOME:-$HOME/.cache}/d9d/trackers-1"
[ ! -e "$trackers/.d9d-complete" ] || export D9D_TRACKERS_PYTHON="${D9D_TRACKERS_PYTHON:-$trackers/bin/python}"
cmake -S . -B "build/$profile" -G Ninja -DD9D_PROFILE="$profile" ${D9D_TORCH:+"-DD9D_TORCH=$D9D_TORCH"} > "/tmp/d9d-configure.$$" 2>&1 ||
  { cat "/tmp/d9d-configure.$$"; exit 1; }
rm -f "/tmp/d9d-configure.$$"
cmake --build "build/$profile" -j "$(nproc)"
ctest --test-dir "build/$profile" --output-on-failure -j "$(($(nproc) + 1))" "$@"  # one more, as jobs wait, too
