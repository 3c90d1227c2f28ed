# What the host has, and whether the program begins. Red here is red everywhere.
source tests/gpu/environment.sh
[ -x "$bundle/bin/test_cuda" ] || { note versions RED "$bundle is missing: bash tests/gpu/pack.sh where d9d is built"; exit 1; }
check program "$bundle/bin/d9d-node" --version || exit 1
[ "$device" = cuda ] || exit 0
nvidia-smi -q > "$logs/nvidia-smi.txt" 2>&1
nvidia-smi -L || { note versions RED "nvidia-smi finds no GPU"; exit 1; }
wanted="$(cat "$bundle/torch")"
[ -n "$site" ] || { note versions RED "$python has no torch: set PYTHON to one with torch $wanted and CUDA 13"; exit 1; }
lscpu | grep -E 'Model name|^CPU\(s\)'
remedy="set PYTHON to one that has it, or pack with D9D_TORCH=VERSION"
"$python" - "$wanted" <<'P' || { note versions RED "torch is another than $wanted with CUDA 13: $remedy"; exit 1; }
import sys, torch
capability = torch.cuda.get_device_capability()
print("torch", torch.__version__, "CUDA", torch.version.cuda, "NCCL", torch.cuda.nccl.version(), "capability", capability)
sys.exit(not (torch.__version__.startswith(sys.argv[1] + ".") and torch.version.cuda.startswith("13.")))
P
ldd "$bundle"/bin/d9d-node "$bundle"/bin/test_cuda "$bundle"/lib/libd9d_cuda.so > "$logs/ldd.txt" 2>&1
if grep 'not found' "$logs/ldd.txt"; then note versions RED "libraries are missing: ldd.txt"; exit 1; fi
check plugin "$bundle/bin/test_cuda" --gtest_brief=1 --gtest_filter='CudaPlugin.*' || exit 1
