#!/usr/bin/env bash
# Which LibTorch D9D_TORCH chooses, and what is said where it cannot be used. The folders look like LibTorch's.
# libtorch_choice.sh SOURCES OUTPUT
set -euo pipefail
torch_cmake="$1/runtime/cmake/torch.cmake" deps="$1/.ci/deps" output="$(realpath -m "$2")"
rm -rf "$output"
unset D9D_TORCH D9D_TORCH_VENV
export XDG_CACHE_HOME="$output/cache"

# ROOT VERSION CUDA: as a wheel lays it out; without CUDA as an archive of a CPU build does.
make_torch() {
  local numbers header="$1/include/torch/headeronly/version.h"
  IFS=. read -ra numbers <<< "$2"
  mkdir -p "$1/lib" "$(dirname "$header")"
  touch "$1/lib/libtorch_cpu.so"
  printf '#define TORCH_VERSION_%s\n' "MAJOR ${numbers[0]}" "MINOR ${numbers[1]}" "PATCH ${numbers[2]}" > "$header"
  if [ -n "$3" ]; then echo "cuda: Optional[str] = '$3'" > "$1/version.py"; else echo "$2+cpu" > "$1/build-version"; fi
}
# CODE TEXT COMMAND...: how the command ends, and what it says. CMake breaks its lines.
expect() {
  local code="$1" text="$2" said got=0
  said="$("${@:3}" 2>&1 | tr -s ' \n' ' '; exit "${PIPESTATUS[0]}")" || got=$?
  [ "$got" = "$code" ] || { echo "${*:3} ended with $got, not $code: $said" >&2; exit 1; }
  [[ "$said" == *"$text"* ]] || { echo "${*:3} did not say \"$text\": $said" >&2; exit 1; }
}
takes() { expect 0 "LibTorch $2 in $output/$3" cmake "-DD9D_TORCH=$1" -P "$torch_cmake"; }
refuses() { expect 1 "$1" cmake "${@:2}" -P "$torch_cmake"; }

packages=lib/python3.11/site-packages
make_torch "$output/venv/$packages/torch" 2.12.1 13.0
make_torch "$output/archive/libtorch" 2.15.0 ""
make_torch "$output/conda" 2.13.0 13.0
make_torch "$output/old" 2.10.0 13.0
make_torch "$output/cuda12" 2.11.0 12.8
make_torch "$output/cache/d9d/torch-2.14.0/$packages/torch" 2.14.0 13.0

takes "$output/venv" "2.12.1 (built for CUDA 13.0)" "venv/$packages/torch"
takes "$output/venv/$packages" "2.12.1 (built for CUDA 13.0)" "venv/$packages/torch"
takes "$output/archive" "2.15.0 (built without CUDA)" archive/libtorch
takes "$output/archive/libtorch" "2.15.0 (built without CUDA)" archive/libtorch
takes "$output/conda" "2.13.0 (built for CUDA 13.0)" conda
takes "$output/cuda12" "2.11.0 (built for CUDA 12.8)" cuda12
takes 2.14 "2.14.0 (built for CUDA 13.0)" "cache/d9d/torch-2.14.0/$packages/torch"
expect 0 "LibTorch 2.12.1" cmake "-DD9D_TORCH_VENV=$output/venv" -P "$torch_cmake"

refuses "run \`D9D_TORCH=2.13.0 bash .ci/deps\`, which installs it" -DD9D_TORCH=2.13.0
refuses "nowhere is not the full path of a folder; give D9D_TORCH a venv" "-DD9D_TORCH=$output/nowhere"
refuses "no LibTorch in $output/cache: neither there nor" "-DD9D_TORCH=$output/cache"
refuses "is 2.10.0, d9d needs 2.11 or newer" "-DD9D_TORCH=$output/old"
refuses "D9D_TORCH is 2.10.0, d9d needs LibTorch 2.11 or newer" -DD9D_TORCH=2.10.0
refuses "built for CUDA 12.8 and the CUDA plugin needs CUDA 13" "-DD9D_TORCH=$output/cuda12" -DD9D_CUDA=ON
refuses "D9D_TORCH_VENV holds 2.12.1" -DD9D_TORCH=2.14.0 "-DD9D_TORCH_VENV=$output/venv"
expect 1 "D9D_TORCH is 2.10.0, d9d needs LibTorch 2.11 or newer" env D9D_TORCH=2.10 bash "$deps"
