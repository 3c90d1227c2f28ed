// The stages of sparse decoders.

#include "runtime/family/sparse_decoder.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/causal_lm.hpp"

namespace d9d {
namespace {

class SparseDecoderLayer final : public DecoderLayer {
 public:
  SparseDecoderLayer(ParameterMaker& make, const SparseDecoder& model, std::int64_t index) {
    const std::int64_t hidden = model.hidden_size;
    input_layernorm_ = make.child<RmsNorm>(*this, "input_layernorm", hidden, model.rms_norm_eps);
    self_attn_ = model.make_attention(make, *this, index);
    post_attention_layernorm_ =
        make.child<RmsNorm>(*this, "post_attention_layernorm", hidden, model.rms_norm_eps);
    if (model.is_sparse_layer(index)) {
      mlp_ = make.child<MixtureOfExperts>(*this, "mlp", model.moe());
    } else {
      mlp_ = make.child<SwiGlu>(*this, "mlp", hidden, model.intermediate_size);
    }
  }
};

}  // namespace

std::shared_ptr<Attention> SparseDecoder::make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                                         std::int64_t index) const {
  return make.child<GroupedQueryAttention>(layer, "self_attn", attention_of(index));
}

std::unique_ptr<StageModule> SparseDecoder::build_stage(StagePosition position,
                                                        const BuildOptions& options) const {
  validate(*this, "model");
  return std::make_unique<CausalLm>(*this, rope, position, options,
                                    [&](ParameterMaker& make, torch::nn::Module& layers, std::int64_t index) {
                                      return make.child<SparseDecoderLayer>(layers, std::to_string(index),
                                                                            *this, index);
                                    });
}

}  // namespace d9d
