// A family of transformers of my own. In each layer attention and feed-forward read the same normed input, and their
// sum is added to the residual (GPT-J; PaLM, arXiv 2204.02311, section 2); every second layer has experts:
//   y = x + branch_scale * (attention(norm(x)) + feed_forward(norm(x)))
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>

#include <array>
#include <string>
#include <utility>

#include "ia3.hpp"
#include "runtime/nn/model/decoder_layer.hpp"
#include "runtime/plugin/own_family.hpp"

namespace mine {
namespace {

// Its members are what a job file and a config.json say; those of OwnDecoder are the usual sizes.
struct ParallelMoe final : d9d::OwnDecoder {
  ParallelMoe() {
    max_position_embeddings = 4096;
    decoder_sparse_step = 2;
    num_experts = 8;
    num_experts_per_tok = 2;
    norm_topk_prob = true;
  }

  double branch_scale = 1;

  const d9d::ModelKeys& keys() const override;
  d9d::AttentionOptions attention() const override {
    d9d::AttentionOptions options = OwnDecoder::attention();
    options.qk_norm = true;
    return options;
  }
  std::shared_ptr<d9d::DecoderLayer> make_layer(d9d::ParameterMaker& make, torch::nn::Module& layers,
                                                std::int64_t index) const override;
  // What make_layer() makes: one norm instead of the usual two.
  d9d::BlockCosts layer(std::int64_t index, int ranks) const override {
    d9d::BlockCosts costs = d9d::norm_costs(hidden_size);
    costs += d9d::attention_costs(attention_of(index), ranks);
    costs +=
        is_sparse_layer(index) ? d9d::mixture_costs(moe(), ranks) : d9d::swiglu_costs(feed_forward(), ranks);
    if (ranks == 1) costs.kept_own -= hidden_size;  // both blocks keep the same input, unless they gather it
    costs.summed = 0;                               // no norm reads the attention's output
    return costs;
  }
  // model.layers.1.mlp.experts.3.up_proj.weight is model.layers.1.ffn.experts.3.w3.weight in my folders.
  std::string in_folder(const std::string& name) const override {
    constexpr std::array<std::pair<const char*, const char*>, 5> words{{{".self_attn.", ".attn."},
                                                                        {".mlp.", ".ffn."},
                                                                        {".gate_proj.", ".w1."},
                                                                        {".up_proj.", ".w3."},
                                                                        {".down_proj.", ".w2."}}};
    std::string theirs = name;
    for (const auto& [ours, their] : words) {
      const auto at = theirs.find(ours);
      if (at != std::string::npos) theirs.replace(at, std::string_view(ours).size(), their);
    }
    return theirs;
  }
};

const d9d::ModelKeys& ParallelMoe::keys() const {
  using namespace d9d::config;
  static const d9d::ModelKeys all = [] {
    d9d::ModelKeys keys = d9d::decoder_keys("parallel_moe", "ParallelMoeForCausalLM");
    d9d::append(keys, d9d::expert_keys({"moe_intermediate_size", "num_experts", "num_experts_per_tok",
                                        "norm_topk_prob", "decoder_sparse_step", "output_router_logits",
                                        "router_aux_loss_coef"}));
    keys.push_back(
        d9d::member({"branch_scale", "", "factor of what a layer adds; null: 1", optional, above(0)},
                    &ParallelMoe::branch_scale));
    return keys;
  }();
  return all;
}

class ParallelLayer final : public d9d::DecoderLayer {
 public:
  ParallelLayer(d9d::ParameterMaker& make, const ParallelMoe& model, std::int64_t index)
      : branch_scale_(model.branch_scale) {
    input_layernorm_ = make.child<d9d::RmsNorm>(*this, "norm", model.hidden_size, model.rms_norm_eps);
    self_attn_ = model.make_attention(make, *this, index);
    mlp_ = model.make_feed_forward(make, *this, index);
  }

 protected:
  d9d::Residual run(const d9d::Residual& hidden, const d9d::LayerContext& context,
                    bool recompute) const override {
    const auto [x, sum] = d9d::add_and_norm(hidden, *input_layernorm_);
    return {sum, at::mul(at::add(attended(x, context), fed(x, context, recompute)), branch_scale_)};
  }

 private:
  const double branch_scale_;
};

std::shared_ptr<d9d::DecoderLayer> ParallelMoe::make_layer(d9d::ParameterMaker& make,
                                                           torch::nn::Module& layers,
                                                           std::int64_t index) const {
  return make.child<ParallelLayer>(layers, std::to_string(index), *this, index);
}

}  // namespace
}  // namespace mine

extern "C" void d9d_register_models(d9d::ModelRegistry& registry) {
  d9d::add_family<mine::ParallelMoe>(
      registry, "parallel_moe",
      "Attention and feed-forward beside each other, experts in every second layer.");
  d9d::add_adapter_method<mine::Ia3>(registry, "ia3");
}
