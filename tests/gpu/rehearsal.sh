#!/usr/bin/env bash
# run.sh without a GPU: the same path through the script with a delayed device, small shapes and the emulated grid's tests.
#   bash tests/gpu/rehearsal.sh BUILD
set -euo pipefail
build="$(cd "$1" && pwd)"
cd "$(dirname "$0")/../.."
bundle="$(mktemp -d)"
trap 'rm -rf "$bundle"' EXIT
mkdir "$bundle/bin"
ln -s "$build/d9d-node" "$bundle/bin/d9d-node"
ln -s "$build/tests/kernels/cuda/emulated/test_cuda_emulated" "$bundle/bin/test_cuda"
D9D_GPU_BUNDLE="$bundle" D9D_GPU_DEVICE=delayed D9D_GPU_SHAPES=dense_17b D9D_GPU_SECONDS=500 \
  bash tests/gpu/run.sh versions tests speed jobs meshes texts sanitizers | tee "$bundle/said" || { echo "a check was red"; exit 1; }
tar -tzf "$bundle/out/gpu.tar.gz" > "$bundle/archive"
grep -q logs/dense_17b_at_once_1.metrics.jsonl "$bundle/archive" || { echo "the archive lacks metrics"; exit 1; }
# A check that fails is red, named in the table, and hides no other.
rm "$bundle/bin/test_cuda" && ln -s /bin/false "$bundle/bin/test_cuda"
! D9D_GPU_BUNDLE="$bundle" D9D_GPU_DEVICE=delayed bash tests/gpu/run.sh tests texts > "$bundle/said" 2>&1
grep -q 'tests *RED  test_cuda shard 0' "$bundle/said" && grep -q 'texts *PASS  qwen3/moe' "$bundle/said"
