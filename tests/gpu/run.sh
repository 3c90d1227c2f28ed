#!/usr/bin/env bash
# On a host with a GPU, after pack.sh: everything that needs one, within ten minutes. A test that would be skipped fails.
#   bash tests/gpu/run.sh correctness     all tests; then memcheck, racecheck and initcheck on the small ones
#   PYTHON                                a Python that has torch 2.11.0+cu130 (python3)
set -euo pipefail
cd "$(dirname "$0")/../.."
what="${1:-}"
[ "$what" = correctness ] || { echo "usage: bash tests/gpu/run.sh correctness" >&2; exit 2; }
stop() { echo "gpu: $*" >&2; exit 1; }
[ -x .gpu/bin/test_cuda ] || stop ".gpu is missing: bash tests/gpu/pack.sh where d9d is built"

site="$("${PYTHON:-python3}" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')" ||
  stop "no torch: set PYTHON to one that has it"
LD_LIBRARY_PATH="$PWD/.gpu/lib:$site/torch/lib:$(find "$site"/nvidia/*/lib -maxdepth 0 | tr '\n' ':')${LD_LIBRARY_PATH:-}"
export LD_LIBRARY_PATH D9D_REQUIRE_GPU=1 D9D_CUDA_PLUGIN="$PWD/.gpu/lib/libd9d_cuda.so"

nvidia-smi -L || stop "no GPU"
nvidia-smi --query-gpu=driver_version,memory.total --format=csv,noheader
.gpu/bin/d9d-node --version
.gpu/bin/test_cuda --gtest_brief=1 | tee .gpu/test_cuda.log
! grep -q SKIPPED .gpu/test_cuda.log || stop "tests were skipped"

sanitizer="$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)" ||
  stop "all tests pass; compute-sanitizer is missing, so memory was not checked"
for tool in memcheck racecheck initcheck; do
  echo "== $tool"
  timeout 150 "$sanitizer" --tool "$tool" --error-exitcode 9 --target-processes all .gpu/bin/test_cuda \
    --gtest_brief=1 --gtest_filter='Cuda*.*Small*' > ".gpu/$tool.log" 2>&1 ||
    { tail -40 ".gpu/$tool.log"; stop "$tool found something: .gpu/$tool.log"; }
done
echo "correctness: all tests ran, none was skipped, three sanitizers are clean"
