#!/usr/bin/env bash
# The benchmark in one command: builds release and the bench programs, runs everything, writes
# build/release/bench/results.{json,md}. Arguments go to bench.py (--help lists them):
#   bash tests/bench/run.sh [--peers DIR] [--peers-python PYTHON] [--pairs N] [--parts train,hops,...]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
build="${D9D_BENCH_BUILD:-$root/build/release}"

case " $* " in *" --help "* | *" -h "*) exec python3 "$here/bench.py" --help ;; esac  # builds nothing
bash "$root/.ci/deps"
cmake -S "$root" -B "$build" -G Ninja -DD9D_PROFILE=release > /dev/null
cmake --build "$build" --target bench -j "$(nproc)"
exec python3 "$here/bench.py" --build "$build" "$@"
