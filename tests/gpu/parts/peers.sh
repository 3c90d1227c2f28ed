# transformers with torch.compile, on the shapes of speed.sh.
source tests/gpu/environment.sh
source tests/gpu/shapes.sh
[ "$device" = cuda ] && "$python" -c 'import transformers' 2>/dev/null || { note peers "LEFT OUT" "a GPU and transformers in $python are needed"; exit 0; }
for shape in ${D9D_GPU_SHAPES:-dense_17b dense_8b moe_3b}; do
  for precision in bfloat16 autocast; do
    check "$shape, $precision" timeout 80 "$python" tests/gpu/peer.py "$(family_of "$shape")" "${!shape}" \
      "$precision" ${D9D_GPU_AT_ONCE:-}
  done
done
exit 0
