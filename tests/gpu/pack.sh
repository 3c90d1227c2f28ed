#!/usr/bin/env bash
# Puts what a GPU host needs besides torch into .gpu/ (at most 40 MB): the program, the CUDA plugin, its tests, its
# benchmark, and the libraries that such a host may lack. Then run there: bash tests/gpu/run.sh
#   bash tests/gpu/pack.sh [BUILD]      builds in build/gpu, for sm_90a; Parquet and Arrow files cannot be read there
#   D9D_TORCH                           the LibTorch of that host (2.11.0, what images for GPUs carry with CUDA 13.0)
set -euo pipefail
cd "$(dirname "$0")/../.."
export D9D_TORCH="${D9D_TORCH:-2.11.0}"
build="${1:-build/gpu}" out=.gpu bytes_max=$((40 << 20))
stop() { echo "pack: $*" >&2; exit 1; }
bash .ci/deps
cmake -S . -B "$build" -G Ninja -DD9D_TORCH="$D9D_TORCH" -DCMAKE_CUDA_ARCHITECTURES=90a > /dev/null
cmake --build "$build" -j "$(nproc)" --target d9d-node d9d_cuda gpu_bench test_cuda | tail -1
programs=("$build/d9d-node" "$build/tests/kernels/cuda/test_cuda" "$build/bench/gpu_bench")
libraries=("$build/libd9d.so" "$build/libd9d_cuda.so")
[ -e "$build/libd9d_cuda.so" ] || stop "this host has no nvcc: D9D_CUDA=1 bash .ci/deps"

site="$(ldd "$build/libd9d.so" | sed -nE 's|.* => (.*)/torch/lib/libtorch_cpu.so .*|\1|p')"
# Of every host: the C and C++ run time. Of the wheels: torch and nvidia.
base='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp)[-.]'
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
sed -nE 's/^#define TORCH_VERSION_(MAJOR|MINOR) +([0-9]+)$/\2/p' "$site/torch/include/torch/headeronly/version.h" |
  paste -sd. > "$out/torch"
for file in "${programs[@]}"; do strip -o "$out/bin/$(basename "$file")" "$file"; done
for file in "${libraries[@]}"; do strip -o "$out/lib/$(basename "$file")" "$file"; done
ldd "${programs[@]}" "${libraries[@]}" | sed -nE 's/^\t([^ ]+) => ([^ ]+) .*/\1 \2/p' | sort -u |
  while read -r name file; do
    [[ "$name" =~ $base || "$file" == "$site"/* || "$file" == *libd9d* || "$file" == *cuda* ]] && continue
    strip -o "$out/lib/$name" "$file"
  done
# Paths of this host lead nowhere there.
for file in "$out"/bin/* "$out"/lib/libd9d*.so; do echo "file(RPATH_REMOVE FILE \"$PWD/$file\")"; done > "$out/rpath.cmake"
cmake -P "$out/rpath.cmake" && rm "$out/rpath.cmake"
size="$(du -sb "$out" | cut -f1)"
[ "$size" -le "$bytes_max" ] || stop "$out has $size bytes, more than $bytes_max"

# As there: an empty environment, and each library from the bundle, from torch's wheels or of every host.
path="$PWD/$out/lib:$(find "$site/torch/lib" "$site"/nvidia/*/lib -maxdepth 0 | tr '\n' ':')"
for file in "$out"/bin/* "$out"/lib/libd9d*.so; do
  env -i LD_LIBRARY_PATH="$path" ldd "$file" | sed -nE 's/^\t([^ ]+) => ([^(]*).*/\1 \2/p' |
    while read -r name from; do
      [[ "$name" =~ $base || "$from" == "$PWD/$out"/* || "$from" == "$site"/* ]] && continue
      # A host with a GPU has all of CUDA's wheels; this one may have a toolkit instead.
      [[ "$name" =~ ^lib(cu|nv|nccl) ]] || stop "$file would take $name from ${from:-nowhere}"
    done
done
env -i LD_LIBRARY_PATH="$path" "$out/bin/d9d-node" --version
env -i LD_LIBRARY_PATH="$path" D9D_CUDA_PLUGIN="$PWD/$out/lib/libd9d_cuda.so" \
  "$out/bin/test_cuda" --gtest_brief=1 --gtest_filter='CudaPlugin.*'
echo "$out: $((size >> 10)) kB"
