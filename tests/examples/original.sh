#!/usr/bin/env bash
# examples/original as its user runs it, with small models: train, perplexity, fine-tune, adapters, answers.
#   original.sh D9D_NODE QUICKSTART_FOLDER OUTPUT_FOLDER
set -euo pipefail
node="$1" quickstart="$2" output="$3"
rm -rf -- "$output"
mkdir -p "$output/data"
here=examples/original tokenizer="$quickstart/export/tokenizer.json"
stop() { echo "original.sh: $*" >&2; exit 1; }
# JOB CHANGES...
job() {
  local name="$1" changes=()
  for change in "${@:2}"; do changes+=(--set "$change"); done
  "$node" "$here/$name.yaml" --set "output_dir=$output/$name" "${changes[@]}" > "$output/$name.log" 2>&1 ||
    { cat "$output/$name.log"; stop "$name.yaml failed"; }
}
# RUN: the losses of its steps.
losses() { sed -nE 's/.*"loss":([-+.0-9e]+).*/\1/p' "$output/$1/metrics.jsonl"; }
falls() { losses "$1" | awk 'NR == 1 { first = $1 } END { exit !($1 < first) }' || stop "the loss of $1 does not fall"; }

# Lines FROM to TO of the text without quotes, as SCRIPT of sed makes them.
rows() { sed -nE "$1,$2"'{s/["\\]//g;'"$3"'}' "$quickstart/data/kjv.txt"; }
as_text='s/^(.+)$/{"text": "\1"}/p'
rows 1 400 "$as_text" > "$output/data/text.jsonl"
rows 401 440 "$as_text" > "$output/data/held_out.jsonl"
# So few that all steps see the same ones.
rows 1 24 's/^([^,]+), (.+)$/{"messages": [{"role": "user", "content": "\1"}, {"role": "assistant", "content": "\2"}]}/p' \
  > "$output/data/conversations.jsonl"

job pretrain "model_provider.model={layer: {hidden_size: 32, intermediate_size: 24, num_experts: 4,
    experts_top_k: 2, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8, rms_norm_eps: 1.0e-6}, num_hidden_layers: 15, rope_base: 10000,
    max_position_ids: 128, split_vocab_size: {regular: 2040, special: 8}, split_vocab_order: [regular, special],
    pipeline_num_virtual_layers_post: 1}" \
  trainer.batching.global_batch_size=16 trainer.batching.microbatch_size=2 trainer.schedule.total_steps=10 \
  trainer.logging.period_steps=1 "data.files.0=$output/data/text.jsonl" "data.tokenizer=$tokenizer" \
  data.sequence_length=32 optimizer.lr=1.0e-2 "export_to=$output/pretrain/export"
falls pretrain

model="$output/pretrain/export"
job perplexity inference.batching.global_batch_size=16 inference.batching.microbatch_size=2 \
  "inference.model_stage_factory.source_checkpoint=$model" "model_provider.from=$model" \
  "data.files.0=$output/data/held_out.jsonl" "data.tokenizer=$tokenizer" data.sequence_length=32
found="$(cat "$output"/perplexity/results/*.jsonl | awk -F'[:,}]' -f $here/perplexity.awk)"
right="$(python3 - "$output"/perplexity/results/*.jsonl << 'END'
import json, math, sys

rows = [json.loads(line) for name in sys.argv[1:] for line in open(name)]
tokens = sum(row["tokens"] for row in rows)
print(f"perplexity {math.exp(sum((row['loss'] or 0) * row['tokens'] for row in rows) / tokens):.4f} of {tokens} tokens")
END
)"
[ "$found" = "$right" ] || stop "perplexity.awk says $found, and that is $right"

# A model of another family in the place of Qwen3-0.6B: the folder says which.
model="$quickstart/export" family=qwen3_moe
cp -r "$model" "$output/model"
cat > "$output/model/chat_template.jinja" << 'END'
{% for m in messages %}{{ m.role }}: {% generation %}{{ m.content }}{% endgeneration %}
{% endfor %}
END
for name in fine_tune lora; do
  changes=(trainer.batching.global_batch_size=8 trainer.schedule.total_steps=16 trainer.checkpointing.period_steps=8
           "trainer.model_stage_factory.source_checkpoint=$output/model" "model_provider.from=$output/model"
           model_provider.name=$family "data.files.0=$output/data/conversations.jsonl" data.sequence_length=64
           optimizer.lr=2.0e-3 "export_to=$output/$name/export")
  if [ $name = lora ]; then
    changes+=("export_adapter_to=$output/lora/adapter" "model_provider.peft.module_name_pattern=.*(self_attn|experts).*_proj")
  fi
  job $name "${changes[@]}"
  falls $name
done
[ -s "$output/lora/adapter/adapter_model.safetensors" ] || stop "lora.yaml wrote no adapter"

model="$output/fine_tune/export"
job evaluate inference.batching.global_batch_size=4 inference.batching.microbatch_size=2 \
  "inference.model_stage_factory.source_checkpoint=$model" "model_provider.from=$model" model_provider.name=$family \
  task.max_new_tokens=8
[ "$(cat "$output"/evaluate/results/*.jsonl | wc -l)" = "$(wc -l < examples/inference/prompts.txt)" ] ||
  stop "not an answer for each prompt"
