// A plugin for biased_test: a language model of the built-in blocks without RoPE, whose attention has a bias of its
// scores instead. `sparse` is one of the plugin's own: a query sees its own key and each second one (a mask of booleans
// as a tensor), and adds what each head has learned for the others.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <boost/describe/class.hpp>

#include <array>

#include "kernels/attention/score_bias.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/dense_decoder.hpp"
#include "runtime/nn/attention/grouped_query_attention.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/mapped_provider.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace biased {

struct BiasedConfig {
  std::string bias = "alibi";
  std::int64_t heads = 6;  // no power of two
  bool bfloat16 = false;
};
BOOST_DESCRIBE_STRUCT(BiasedConfig, (), (bias, heads, bfloat16))
constexpr auto keys_of(d9d::config::Tag<BiasedConfig>) {
  using namespace d9d::config;
  return std::array{Key{"bias", "", "alibi, buckets or sparse", d9d::config::optional},
                    Key{"heads", "", "of queries", d9d::config::optional, at_least(1)},
                    Key{"bfloat16", "", "the type of the parameters", d9d::config::optional}};
}

namespace {

class SparseBias final : public d9d::AttentionBias {
 public:
  explicit SparseBias(at::Tensor others) : others_(std::move(others)) {}
  d9d::kernels::ScoreBias of(const d9d::BiasedScores& scores) const override {
    const auto place = at::TensorOptions(scores.device).dtype(at::kLong);
    const at::Tensor apart =
        at::arange(scores.first_query, scores.first_query + scores.queries, place).unsqueeze(1) -
        at::arange(scores.keys, place);
    const at::Tensor hidden = d9d::kernels::bias_of_mask(apart.remainder(2) == 0);
    const at::Tensor others = others_.narrow(0, scores.first_head, scores.heads).to(at::kFloat);
    return {hidden + (apart != 0).to(at::kFloat) * others.view({1, -1, 1, 1})};
  }
  void shard(d9d::TensorParallel& tensor) override { tensor.shard(others_, 0); }

 private:
  at::Tensor others_;  // [heads of this rank]
};

struct BiasedModel final : d9d::DenseDecoder {
  std::string bias;

  explicit BiasedModel(const BiasedConfig& config) : bias(config.bias) {
    vocab_size = 512;
    hidden_size = 48;
    intermediate_size = 64;
    num_hidden_layers = 2;
    num_attention_heads = config.heads;
    num_key_value_heads = 2;
    head_dim = 8;
    max_position_embeddings = 64;
  }
  d9d::AttentionOptions attention() const override {
    d9d::AttentionOptions options = DenseDecoder::attention();
    options.rotary = false;
    if (bias == "alibi") options.position_bias = d9d::PositionBias::alibi;
    if (bias == "buckets") options.position_bias = d9d::PositionBias::buckets;
    options.bias_buckets = 8;
    options.bias_longest = 20;
    return options;
  }
  std::shared_ptr<d9d::Attention> make_attention(d9d::ParameterMaker& make, torch::nn::Module& layer,
                                                 std::int64_t index) const override {
    if (bias != "sparse") return DenseDecoder::make_attention(make, layer, index);
    const auto block = make.child<d9d::GroupedQueryAttention>(layer, "self_attn", attention_of(index));
    const at::Tensor others =
        make.within("self_attn", [&] { return make.normal(*block, "others", {num_attention_heads}); });
    block->set_bias(std::make_shared<SparseBias>(others));
    return block;
  }
  const d9d::ModelKeys& keys() const override {
    throw d9d::Error(d9d::ErrorKind::bug, "no job file has its keys");
  }
};

class BiasedProvider final : public d9d::MappedProvider {
 public:
  explicit BiasedProvider(const BiasedConfig& config)
      : model_(config), dtype_(config.bfloat16 ? at::kBFloat16 : at::kFloat) {}

  std::unique_ptr<d9d::StageModule> build_stage(d9d::StagePosition position) const override {
    return model_.build_stage(position, {.dtype = dtype_, .device = c10::Device(position.device)});
  }
  std::vector<d9d::StageParameter> parallelize(d9d::StageModule& stage, d9d::StageGroups& groups,
                                               const d9d::ParallelOptions& options) const override {
    return model_.parallelize(stage, groups, options);
  }
  std::optional<std::int64_t> vocab_size() const override { return model_.vocab_size; }

 private:
  const BiasedModel model_;
  const at::ScalarType dtype_;
};

}  // namespace
}  // namespace biased

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_model("biased_lm", [](const d9d::config::Section& section) {
    return std::make_shared<biased::BiasedProvider>(d9d::config::decode<biased::BiasedConfig>(section));
  });
}
