# transformers with torch.compile, on the shapes of speed.sh.
source tests/gpu/environment.sh
source tests/gpu/shapes.sh
"$python" -c 'import transformers' 2>/dev/null || { note peers "LEFT OUT" "$python has no transformers"; exit 0; }
check dense_17b timeout 100 "$python" tests/gpu/peer.py qwen3 "$dense_17b" 
check moe_3b timeout 100 "$python" tests/gpu/peer.py qwen3_moe "$moe_3b"
exit 0
