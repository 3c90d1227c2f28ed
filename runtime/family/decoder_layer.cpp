// The stages of dense and sparse decoders.

#include "runtime/family/sparse_decoder.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class PlainLayer final : public DecoderLayer {
 public:
  PlainLayer(ParameterMaker& make, const DenseDecoder& model, std::int64_t index) {
    const auto norm = [&](const char* name) {
      return make.child<RmsNorm>(*this, name, model.hidden_size, model.rms_norm_eps,
                                 model.zero_centered_norms);
    };
    input_layernorm_ = norm("input_layernorm");
    self_attn_ = model.make_attention(make, *this, index);
    post_attention_layernorm_ = norm("post_attention_layernorm");
    mlp_ = model.make_feed_forward(make, *this, index);
  }
};

}  // namespace

std::shared_ptr<Attention> DenseDecoder::make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                                        std::int64_t index) const {
  return make.child<GroupedQueryAttention>(layer, "self_attn", attention_of(index));
}

std::shared_ptr<FeedForward> DenseDecoder::make_feed_forward(ParameterMaker& make, torch::nn::Module& layer,
                                                             std::int64_t /*index*/) const {
  return make.child<SwiGlu>(layer, "mlp", feed_forward());
}

std::shared_ptr<FeedForward> SparseDecoder::make_feed_forward(ParameterMaker& make, torch::nn::Module& layer,
                                                              std::int64_t index) const {
  if (!is_sparse_layer(index)) return DenseDecoder::make_feed_forward(make, layer, index);
  return make.child<MixtureOfExperts>(layer, "mlp", moe());
}

std::shared_ptr<DecoderLayer> DenseDecoder::make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                                       std::int64_t index) const {
  return make.child<PlainLayer>(layers, std::to_string(index), *this, index);
}

std::unique_ptr<StageModule> DenseDecoder::build_stage(StagePosition position,
                                                       const BuildOptions& options) const {
  validate("model");
  return std::make_unique<CausalLm>(*this, rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make_layer(make, layers, index);
                                    });
}

}  // namespace d9d
