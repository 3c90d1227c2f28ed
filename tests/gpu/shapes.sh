# Shapes that our jobs and the peers share, in the words of config.json, which is YAML, too.
words="vocab_size: 151936, max_position_embeddings: 4096, head_dim: 128, tie_word_embeddings: true"
# Qwen3-1.7B.
dense_17b="hidden_size: 2048, intermediate_size: 6144, num_hidden_layers: 28, num_attention_heads: 16, num_key_value_heads: 8, $words"
# Twelve layers of Qwen3-8B: with its optimizer, the whole does not fit one GPU of 80 GB.
dense_8b="hidden_size: 4096, intermediate_size: 12288, num_hidden_layers: 12, num_attention_heads: 32, num_key_value_heads: 8, $words"
# 3 B parameters, 0.4 B of them at work for a token.
moe_3b="hidden_size: 1024, intermediate_size: 3072, moe_intermediate_size: 384, num_experts: 128, num_experts_per_tok: 8, norm_topk_prob: true, num_hidden_layers: 20, num_attention_heads: 16, num_key_value_heads: 4, $words"

# SHAPE: its family.
family_of() { case "$1" in moe_*) echo qwen3_moe ;; *) echo qwen3 ;; esac; }
