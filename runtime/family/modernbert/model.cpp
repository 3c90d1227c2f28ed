#include "runtime/family/modernbert/config.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

// The embedding's norm is that of the first layer.
class ModernBertLayer final : public DecoderLayer {
 public:
  ModernBertLayer(ParameterMaker& make, const ModernBertConfig& config, std::int64_t index) {
    const auto norm = [&](const char* name) {
      return make.child<RmsNorm>(*this, name, config.hidden_size, config.rms_norm_eps, false,
                                 config.norm_kind);
    };
    if (index > 0) input_layernorm_ = norm("input_layernorm");
    self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention_of(index));
    post_attention_layernorm_ = norm("post_attention_layernorm");
    mlp_ = make.child<SwiGlu>(*this, "mlp", config.feed_forward());
    window_rope_ = config.windows.slides(index);
  }
};

}  // namespace

std::shared_ptr<DecoderLayer> ModernBertConfig::make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                                           std::int64_t index) const {
  return make.child<ModernBertLayer>(layers, std::to_string(index), *this, index);
}

}  // namespace d9d
