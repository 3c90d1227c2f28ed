#!/usr/bin/env bash
# Measures which lines of a room the room's own tests run, and fails where they are fewer than its floor in
# tests/coverage_floors.txt says. It builds all once more, without optimisation, so it runs at night and not in CI.
#   bash tests/coverage.sh                              all rooms
#   bash tests/coverage.sh runtime/base runtime/net     these: minutes
#   D9D_WRITE=1 bash tests/coverage.sh ROOM ...         what was measured becomes the floor
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/coverage
red=
cmake -S . -B "$build" -G Ninja -DD9D_PROFILE=coverage > /dev/null
# kernels/cuda is measured with kernels: its sources run on the emulated grid.
[ $# -gt 0 ] || set -- $(cd tests && find actors kernels messages runtime -name CMakeLists.txt -printf '%h\n' |
                         grep -v ^kernels/cuda | sort)
for room in "$@"; do
  cmake --build "$build" --target "tests/$room/all"
  find "$build" -name '*.gcda' -delete
  # Bounds of rounding are made for vector loops: a red test is named and the lines are counted all the same.
  ctest --test-dir "$build/tests/$room" --output-on-failure -j "$(nproc)" || red+=" $room"
  python3 tests/coverage.py "$build" "$room" || red+=" $room"
done
[ -z "$red" ] || { echo "look at:$red"; exit 1; }
