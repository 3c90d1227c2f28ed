#include "runtime/family/mistral/config.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class MistralLayer final : public DecoderLayer {
 public:
  MistralLayer(ParameterMaker& make, const MistralConfig& config, std::int64_t index) {
    const std::int64_t hidden = config.hidden_size;
    input_layernorm_ = make.child<RmsNorm>(*this, "input_layernorm", hidden, config.rms_norm_eps);
    self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention_of(index));
    post_attention_layernorm_ =
        make.child<RmsNorm>(*this, "post_attention_layernorm", hidden, config.rms_norm_eps);
    mlp_ = make.child<SwiGlu>(*this, "mlp", hidden, config.intermediate_size);
  }
};

}  // namespace

std::unique_ptr<StageModule> MistralConfig::build_stage(StagePosition position,
                                                        const BuildOptions& options) const {
  validate(*this, "model");
  return std::make_unique<CausalLm>(*this, rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make.child<MistralLayer>(layers, std::to_string(index), *this,
                                                                      index);
                                    });
}

}  // namespace d9d
