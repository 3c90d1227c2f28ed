#include "runtime/family/llama/config.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class LlamaLayer final : public DecoderLayer {
 public:
  LlamaLayer(ParameterMaker& make, const LlamaConfig& config) {
    const std::int64_t hidden = config.hidden_size;
    input_layernorm_ = make.child<RmsNorm>(*this, "input_layernorm", hidden, config.rms_norm_eps);
    self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention());
    post_attention_layernorm_ =
        make.child<RmsNorm>(*this, "post_attention_layernorm", hidden, config.rms_norm_eps);
    mlp_ = make.child<SwiGlu>(*this, "mlp", hidden, config.intermediate_size);
  }
};

}  // namespace

std::unique_ptr<StageModule> LlamaConfig::build_stage(StagePosition position,
                                                      const BuildOptions& options) const {
  validate(*this, "model");
  return std::make_unique<CausalLm>(*this, rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make.child<LlamaLayer>(layers, std::to_string(index), *this);
                                    });
}

}  // namespace d9d
