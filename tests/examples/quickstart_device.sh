#!/usr/bin/env bash
# Which device the quickstart takes, with an nvidia-smi and a d9d-node that only say what they were told.
# quickstart_device.sh QUICKSTART OUTPUT
set -euo pipefail
quickstart="$1" output="$2"
rm -rf "$output"
mkdir -p "$output/bin"
cat > "$output/bin/nvidia-smi" << 'END'
#!/bin/sh
[ -n "${FAKE_GPU:-}" ] || exit 9
case "$*" in *compute_cap*) echo "${FAKE_CAPABILITY:-9.0}" ;; *) echo "$FAKE_GPU" ;; esac
END
cat > "$output/node" << 'END'
#!/bin/sh
echo "node D9D_CUDA=${D9D_CUDA:-unset} $*"
exit 7
END
chmod +x "$output/bin/nvidia-smi" "$output/node"
export PATH="$output/bin:$PATH"
unset D9D_CUDA

# CODE TEXT NOT-TEXT WORDS...: how the script ends, what it says, and what not ("-": anything).
expect() {
  local code="$1" text="$2" never="$3" said got=0
  shift 3
  said="$(bash "$quickstart" --smoke --node "$output/node" --output "$output/run" "$@" 2>&1)" || got=$?
  [ "$got" = "$code" ] || { echo "$* ended with $got, not $code: $said" >&2; exit 1; }
  [[ "$said" == *"$text"* ]] || { echo "$* did not say \"$text\": $said" >&2; exit 1; }
  [[ "$never" = - || "$said" != *"$never"* ]] || { echo "$* said \"$never\": $said" >&2; exit 1; }
}
new="NVIDIA H100 80GB HBM3, 81559 MiB, 580.65.06" old="NVIDIA A100-SXM4-40GB, 40960 MiB, 550.54.15"

expect 7 "Device: the CPU (nvidia-smi shows no GPU)" node.device=cuda
expect 2 "--device cuda, but nvidia-smi shows no GPU" "node D9D_CUDA" --device cuda
expect 2 "--device is gpu, expected cpu or cuda" "node D9D_CUDA" --device gpu
export FAKE_GPU="$new"
expect 7 "Device: the GPU $new" -
expect 7 "2.3 GB are downloaded" -
expect 7 "node D9D_CUDA=1 " -
expect 7 "--set node.device=cuda" -
expect 7 "Device: the CPU, as --device says" node.device=cuda --device cpu
expect 7 "node D9D_CUDA=0 " - --device cpu
export FAKE_CAPABILITY=7.5
expect 7 "NVIDIA H100 80GB HBM3 is older than compute capability 8.0" node.device=cuda
unset FAKE_CAPABILITY
export FAKE_GPU="$old"
expect 7 "the driver of NVIDIA A100-SXM4-40GB is R550, CUDA 13.0 needs R580 or newer" node.device=cuda
expect 2 "--device cuda, but the driver" "node D9D_CUDA" --device cuda
export FAKE_GPU="$new" D9D_CUDA=0
expect 7 "Device: the CPU (D9D_CUDA=0)" node.device=cuda
expect 2 "--device cuda, but D9D_CUDA=0" "node D9D_CUDA" --device cuda
echo "the quickstart chooses its device"
