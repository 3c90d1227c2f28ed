# The same texts as on the CPU, by caches of keys, of windows, of latent attention and of gated delta nets.
source tests/gpu/environment.sh
same_texts() {
  local model="$1" name="${1//\//_}" place
  for place in cpu "$device"; do
    "$bundle/bin/d9d-node" generate "tests/golden/$model" --tokenizer tests/golden/tokenizer/qwen.json --prompt "A+B" \
      --prompt "(X-Y)" --tokens 16 --temperature 0 --device "$place" --out "$bundle/texts_${name}_$place.jsonl" || return 1
  done
  cmp "$bundle/texts_${name}_cpu.jsonl" "$bundle/texts_${name}_$device.jsonl"
}
for model in qwen3/moe gemma3_text/published latent_families/deepseek_v3 qwen3_next/mixed; do
  check "$model" same_texts "$model" &
done
wait
exit 0
