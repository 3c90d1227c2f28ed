#include "runtime/family/qwen3/model.hpp"

#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class Qwen3Layer final : public DecoderLayer {
 public:
  Qwen3Layer(ParameterMaker& make, const Qwen3Config& config, std::int64_t index) {
    const std::int64_t hidden = config.hidden_size;
    input_layernorm_ = make.child<RmsNorm>(*this, "input_layernorm", hidden, config.rms_norm_eps);
    self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention_of(index));
    post_attention_layernorm_ =
        make.child<RmsNorm>(*this, "post_attention_layernorm", hidden, config.rms_norm_eps);
    if (config.is_sparse_layer(index)) {
      mlp_ = make.child<MixtureOfExperts>(*this, "mlp", config.moe());
    } else {
      mlp_ = make.child<SwiGlu>(*this, "mlp", hidden, config.intermediate_size);
    }
  }
};

}  // namespace

std::unique_ptr<StageModule> build_qwen3_stage(const Qwen3Config& config, StagePosition position,
                                               const BuildOptions& options) {
  validate(config);
  return std::make_unique<CausalLm>(config, config.rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make.child<Qwen3Layer>(layers, std::to_string(index), config,
                                                                    index);
                                    });
}

std::unique_ptr<StageModule> Qwen3Config::build_stage(StagePosition position,
                                                      const BuildOptions& options) const {
  return build_qwen3_stage(*this, position, options);
}

}  // namespace d9d
