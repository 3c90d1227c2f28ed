#pragma once
// The section `model_provider.model` of Gemma 3: Hugging Face's keys. Absent
// keys come from `from`, then from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/family/causal_lm_section.hpp"

namespace d9d {

struct Gemma3TextSection : CausalLmSection {
  std::optional<double> query_pre_attn_scalar;
  std::optional<double> rope_local_base_freq;
  std::optional<std::int64_t> sliding_window_pattern;
  std::optional<nlohmann::json> hidden_activation;
  std::optional<double> final_logit_softcapping;
  std::optional<nlohmann::json> attn_logit_softcapping;
  std::optional<nlohmann::json> use_bidirectional_attention;
};
BOOST_DESCRIBE_STRUCT(Gemma3TextSection, (CausalLmSection),
                      (query_pre_attn_scalar, rope_local_base_freq, sliding_window_pattern, hidden_activation,
                       final_logit_softcapping, attn_logit_softcapping, use_bidirectional_attention))

constexpr auto keys_of(config::Tag<Gemma3TextSection>) {
  using namespace config;
  return join(
      keys_of(Tag<CausalLmSection>{}),
      std::array{
          Key{"query_pre_attn_scalar", "", "the inverse of its root is the scale of the scores; null: 256",
              optional, above(0)},
          Key{"rope_local_base_freq", "",
              "base of the rotary frequencies of layers with a window; null: 10000", optional, above(1)},
          Key{"sliding_window_pattern", "layers",
              "every such layer has full attention, the others a window, where layer_types does not say it; "
              "null: 6",
              optional, at_least(1)},
          Key{"hidden_activation", "", "activation; only gelu_pytorch_tanh"},
          Key{"final_logit_softcapping", "",
              "logits are this times the tanh of their share of it; null: as they are", optional, above(0)},
          Key{"attn_logit_softcapping", "", "only null"},
          Key{"use_bidirectional_attention", "", "only false"}});
}

}  // namespace d9d
