#include "runtime/family/gemma3_text/config.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class Gemma3TextLayer final : public DecoderLayer {
 public:
  Gemma3TextLayer(ParameterMaker& make, const Gemma3TextConfig& config, std::int64_t index) {
    const auto norm = [&](const char* name) {
      return make.child<RmsNorm>(*this, name, config.hidden_size, config.rms_norm_eps,
                                 config.zero_centered_norms);
    };
    input_layernorm_ = norm("input_layernorm");
    self_attn_ = make.child<GroupedQueryAttention>(*this, "self_attn", config.attention_of(index));
    attended_norm_ = norm("post_attention_layernorm");
    post_attention_layernorm_ = norm("pre_feedforward_layernorm");
    mlp_ = make.child<SwiGlu>(*this, "mlp", config.feed_forward());
    fed_norm_ = norm("post_feedforward_layernorm");
    window_rope_ = config.windows.slides(index);
  }
};

}  // namespace

std::shared_ptr<DecoderLayer> Gemma3TextConfig::make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                                           std::int64_t index) const {
  return make.child<Gemma3TextLayer>(layers, std::to_string(index), *this, index);
}

}  // namespace d9d
