#!/usr/bin/env bash
# Installs what is missing, builds, runs all tests. Safe to repeat; fast the second time.
#   D9D_PROFILE  release (default) | dev | asan | tsan        extra arguments go to ctest
set -euo pipefail
cd "$(dirname "$0")/.."
profile="${D9D_PROFILE:-release}"

bash .ci/deps
cmake -S . -B "build/$profile" -G Ninja -DD9D_PROFILE="$profile" > "/tmp/d9d-configure.$$" 2>&1 ||
  { cat "/tmp/d9d-configure.$$"; exit 1; }
rm -f "/tmp/d9d-configure.$$"
cmake --build "build/$profile" -j "$(nproc)"
ctest --test-dir "build/$profile" --output-on-failure -j "$(nproc)" "$@"
