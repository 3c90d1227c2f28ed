#pragma once
// The section `model_provider.model` of Mixtral: Hugging Face's keys. Absent keys
// come from `from`, then from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {

struct MixtralSection : CausalLmSection {
  std::optional<std::int64_t> num_experts;
  std::optional<std::int64_t> num_local_experts;
  std::optional<std::int64_t> num_experts_per_tok;
  std::optional<nlohmann::json> router_jitter_noise;
  std::optional<nlohmann::json> output_router_logits;
  std::optional<nlohmann::json> router_aux_loss_coef;
  std::optional<double> router_z_loss_coef;
};
BOOST_DESCRIBE_STRUCT(MixtralSection, (CausalLmSection),
                      (num_experts, num_local_experts, num_experts_per_tok, router_jitter_noise,
                       output_router_logits, router_aux_loss_coef, router_z_loss_coef))
constexpr auto keys_of(config::Tag<MixtralSection>) {
  using namespace model_keys;
  return config::join(keys_of(config::Tag<CausalLmSection>{}),
                      std::array{num_experts, num_local_experts, num_experts_per_tok, router_jitter_noise,
                                 output_router_logits, router_aux_loss_coef, router_z_loss_coef});
}

}  // namespace d9d
