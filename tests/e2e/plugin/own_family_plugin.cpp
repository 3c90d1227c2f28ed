// A plugin for own_family_test: a family that hears of its live stages, families with a fault each, a method that
// cannot be exported.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>

#include "runtime/base/error.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/model/decoder_layer.hpp"
#include "runtime/plugin/own_family.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace listening {
namespace {

namespace events = d9d::events;

template <char kind>
struct SmallDecoder : d9d::OwnDecoder {
  SmallDecoder() {
    max_position_embeddings = 128;
    moe_intermediate_size = 1;
  }
  const d9d::ModelKeys& keys() const override {
    static const std::string name = std::string("small_") + kind;
    static const d9d::ModelKeys all = d9d::decoder_keys(name, "SmallForCausalLM");
    return all;
  }
};

void say(const std::string& line) {
  std::fputs(("heard: " + line + "\n").c_str(), stderr);
}

double sum_of(const d9d::FlatParameters& parameters, const std::string& name) {
  for (const d9d::StageParameter& parameter : parameters.parameters())
    if (parameter.name == name) return parameter.tensor.detach().sum().item<double>();
  return 0;
}

struct ListeningDecoder final : SmallDecoder<'l'> {
  void register_events(d9d::RankEvents& all) const override {
    say(fmt::format("rank {} of {} registers", all.rank(), all.plan()->world_size()));
    all.on<events::ConfigurationModelStages>("listening", [this, &all](const auto& event) {
      const std::lock_guard lock(mutex_);
      live_[all.rank()] = event;
      for (const auto& [stage, module] : event.stages) {
        const auto names = dynamic_cast<torch::nn::Module&>(*module).named_parameters().keys();
        say(fmt::format("rank {} stage {} of {} has {} parameters, the first {}", all.rank(), stage,
                        event.plan->parameters().pipeline_parallel, names.size(), names.front()));
      }
    });
    all.on<events::StepPost>("listening", [this, &all](const auto& event) {
      const std::lock_guard lock(mutex_);
      const auto& live = live_.at(all.rank());
      for (const auto& [stage, module] : live.stages) {
        const std::string last = module->parameters().back().name;
        say(fmt::format("rank {} step {} {} sums to {}", all.rank(), event.step, last,
                        sum_of(*live.parameters, last)));
      }
    });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<int, events::ConfigurationModelStages> live_;
};

// Its blocks mix the tokens of a sequence in another way than attention, say.
struct LonelyDecoder final : SmallDecoder<'o'> {
  void require_context_parallel(int ranks) const override {
    D9D_REQUIRE(ranks == 1,
                "small_o cannot share a sequence between {} ranks; set mesh.context_parallel_shard to 1",
                ranks);
  }
};

struct ForgetfulDecoder final : SmallDecoder<'f'> {
  std::shared_ptr<d9d::DecoderLayer> make_layer(d9d::ParameterMaker& make, torch::nn::Module& layers,
                                                std::int64_t index) const override;
};

struct ForgetfulLayer final : d9d::DecoderLayer {
  ForgetfulLayer(d9d::ParameterMaker& make, const ForgetfulDecoder& model, std::int64_t index) {
    self_attn_ = model.make_attention(make, *this, index);
  }
};

std::shared_ptr<d9d::DecoderLayer> ForgetfulDecoder::make_layer(d9d::ParameterMaker& make,
                                                                torch::nn::Module& layers,
                                                                std::int64_t index) const {
  return make.child<ForgetfulLayer>(layers, std::to_string(index), *this, index);
}

// Makes a norm, counts it, and never uses it.
struct UnusingDecoder final : SmallDecoder<'u'> {
  d9d::BlockCosts layer(std::int64_t index, int ranks) const override {
    d9d::BlockCosts costs = OwnDecoder::layer(index, ranks);
    costs += d9d::norm_costs(hidden_size);
    return costs;
  }
  std::shared_ptr<d9d::DecoderLayer> make_layer(d9d::ParameterMaker& make, torch::nn::Module& layers,
                                                std::int64_t index) const override {
    auto layer = OwnDecoder::make_layer(make, layers, index);
    make.within(std::to_string(index),
                [&] { return make.child<d9d::RmsNorm>(*layer, "spare", hidden_size, rms_norm_eps); });
    return layer;
  }
};

struct ThrowingDecoder final : SmallDecoder<'t'> {
  std::shared_ptr<d9d::DecoderLayer> make_layer(d9d::ParameterMaker& make, torch::nn::Module& layers,
                                                std::int64_t index) const override;
};

struct ThrowingLayer final : d9d::DecoderLayer {
  ThrowingLayer(d9d::ParameterMaker& make, const ThrowingDecoder& model, std::int64_t index) {
    input_layernorm_ =
        make.child<d9d::RmsNorm>(*this, "input_layernorm", model.hidden_size, model.rms_norm_eps);
    post_attention_layernorm_ =
        make.child<d9d::RmsNorm>(*this, "post_attention_layernorm", model.hidden_size, model.rms_norm_eps);
    self_attn_ = model.make_attention(make, *this, index);
    mlp_ = model.make_feed_forward(make, *this, index);
  }
  d9d::Residual run(const d9d::Residual&, const d9d::LayerContext&, bool) const override {
    throw std::runtime_error("this layer is unwell");
  }
};

std::shared_ptr<d9d::DecoderLayer> ThrowingDecoder::make_layer(d9d::ParameterMaker& make,
                                                               torch::nn::Module& layers,
                                                               std::int64_t index) const {
  return make.child<ThrowingLayer>(layers, std::to_string(index), *this, index);
}

struct WrongCosts final : SmallDecoder<'c'> {
  d9d::BlockCosts layer(std::int64_t index, int ranks) const override {
    d9d::BlockCosts costs = OwnDecoder::layer(index, ranks);
    costs += d9d::norm_costs(hidden_size);
    return costs;
  }
};

struct Unmergeable final : d9d::LinearMethod {
  struct Branch final : d9d::OwnBranch {
    explicit Branch(d9d::ParameterMaker& make) : weight(make.constant(*this, "weight", {1}, 0.0F)) {}
    d9d::BranchResult forward(const at::Tensor& x) const override { return {.added = x * weight}; }
    at::Tensor weight;
  };
  std::string pattern() const override { return R"(.*\.o_proj)"; }
  std::shared_ptr<d9d::OwnBranch> make_branch(d9d::ParameterMaker& make, d9d::Linear& linear) const override {
    return make.child<Branch>(linear, "added");
  }
};
BOOST_DESCRIBE_STRUCT(Unmergeable, (), ())

}  // namespace
}  // namespace listening

extern "C" void d9d_register_models(d9d::ModelRegistry& registry) {
  using namespace listening;
  d9d::add_family<ListeningDecoder>(registry, "small_l", "Listens.");
  d9d::add_family<LonelyDecoder>(registry, "small_o", "Shares no sequence.");
  d9d::add_family<ForgetfulDecoder>(registry, "small_f", "Has no feed-forward.");
  d9d::add_family<UnusingDecoder>(registry, "small_u", "Forgets a norm.");
  d9d::add_family<ThrowingDecoder>(registry, "small_t", "Throws.");
  d9d::add_family<WrongCosts>(registry, "small_c", "Counts wrongly.");
  d9d::add_adapter_method<Unmergeable>(registry, "unmergeable");
  if (std::getenv("D9D_TEST_TWICE") != nullptr)
    d9d::add_family<ListeningDecoder>(registry, "parallel_moe", "That of the example.");
}
