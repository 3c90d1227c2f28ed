#include "runtime/family/qwen3_next/config.hpp"
#include "runtime/nn/attention/gated_delta_net.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class Qwen3NextLayer final : public DecoderLayer {
 public:
  Qwen3NextLayer(ParameterMaker& make, const Qwen3NextConfig& config, std::int64_t index) {
    const auto norm = [&](const char* name) {
      return make.child<RmsNorm>(*this, name, config.hidden_size, config.rms_norm_eps,
                                 config.zero_centered_norms);
    };
    input_layernorm_ = norm("input_layernorm");
    if (config.is_linear_layer(index)) {
      self_attn_ = make.child<GatedDeltaNet>(*this, "linear_attn", config.delta_net());
    } else {
      self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention());
    }
    post_attention_layernorm_ = norm("post_attention_layernorm");
    if (config.is_sparse_layer(index)) {
      mlp_ = make.child<MixtureOfExperts>(*this, "mlp", config.moe());
    } else {
      mlp_ = make.child<SwiGlu>(*this, "mlp", config.hidden_size, config.intermediate_size);
    }
  }
};

}  // namespace

std::unique_ptr<StageModule> Qwen3NextConfig::build_stage(StagePosition position,
                                                          const BuildOptions& options) const {
  validate(*this, "model");
  return std::make_unique<CausalLm>(*this, rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make.child<Qwen3NextLayer>(layers, std::to_string(index), *this,
                                                                        index);
                                    });
}

}  // namespace d9d
