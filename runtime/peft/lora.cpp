#include "runtime/peft/lora.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nonzero.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/nn/block/dropout.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/peft/each_linear.hpp"

namespace d9d {
namespace {

// Cuts a factor like its weight [.., out, in], but not along `rank_dim`, the dimension that is r in the
// factor: an axis that cuts the weight there is left out, so the factor counts as replicated on it.
void follow_weight(const StageParameter& weight, StageParameter& factor, std::size_t rank_dim) {
  for (const LayoutAxis& axis : weight.layout.axes()) {
    if (axis.placement.shard_dim != static_cast<int>(rank_dim)) place(factor, axis);
  }
}

// Cuts m of DoRA like the weight's rows. Refuses weights whose rows themselves are cut:
// no rank could compute a length.
void follow_magnitudes(const StageParameter& weight, StageParameter& magnitudes) {
  for (const LayoutAxis& axis : weight.layout.axes())
    D9D_REQUIRE(
        axis.placement.shard_dim != 1,
        "{} has an adapter with use_dora, which needs whole rows, but they are cut over {} ranks ({}); "
        "use tensor_parallel 1, or leave such modules (o_proj, down_proj) out of module_name_pattern",
        weight.name, axis.size, axis.name);
  follow_rows(weight, magnitudes);
}

struct Magnitudes : torch::nn::Module {
  Magnitudes(ParameterMaker& make, std::int64_t out) : weight(make.constant(*this, "weight", {out}, 1.0F)) {}

  at::Tensor weight;
};

// The modules that an adapter adds to a Linear or a GroupedLinear as children.
template <class Leaf>
struct Factors {
  std::shared_ptr<Leaf> a, b;
  std::shared_ptr<Magnitudes> magnitudes = {};  // null without DoRA
};

template <class Leaf>
class LowRank {
 public:
  LowRank(LoraConfig config, std::string path, Factors<Leaf> factors)
      : config(std::move(config)),
        factors(std::move(factors)),
        path_(std::move(path)),
        scale_(scale_of(this->config.params)) {}

  template <class... Offsets>
  at::Tensor product(const at::Tensor& x, const Offsets&... offsets) const {
    const Leaf &a = *factors.a, &b = *factors.b;
    const at::Tensor kept = a.is_training() ? dropout(x, config.params.dropout, path_) : x;
    return b.forward(at::mul(a.forward(kept, offsets...), scale_), offsets...);
  }
  void follow_weights(const StageParameter& weight, std::vector<StageParameter>& parameters) const {
    const std::size_t dims = weight.layout.global_shape().size();
    follow_weight(weight, parameter_of(parameters, factors.a->weight), dims - 2);
    follow_weight(weight, parameter_of(parameters, factors.b->weight), dims - 1);
    if (factors.magnitudes) follow_magnitudes(weight, parameter_of(parameters, factors.magnitudes->weight));
  }
  at::Tensor merged(const at::Tensor& weight) const {
    return merged_weight(weight, factors.a->weight, factors.b->weight, scale_,
                         factors.magnitudes ? factors.magnitudes->weight : at::Tensor());
  }
  // m / |W + s B A|
  at::Tensor row_scale(const at::Tensor& weight) const {
    const at::Tensor& m = factors.magnitudes->weight;
    const at::Tensor lengths = row_lengths(weight, factors.a->weight, factors.b->weight, scale_);
    return at::div(m.to(lengths.scalar_type()), lengths).to(m.scalar_type());
  }

  double scale() const { return scale_; }

  const LoraConfig config;
  const Factors<Leaf> factors;

 private:
  const std::string path_;
  const double scale_;
};

class LoraBranch final : public LinearBranch, public LowRank<Linear> {
 public:
  LoraBranch(LoraConfig config, std::string path, Factors<Linear> factors, at::Tensor weight)
      : LowRank(std::move(config), std::move(path), std::move(factors)), weight_(std::move(weight)) {}

  BranchResult forward(const at::Tensor& x) const override {
    const at::Tensor added = product(x);
    if (!factors.magnitudes) return {added};
    const at::Tensor scale = row_scale(weight_);
    return {at::mul(added, scale), scale};
  }
  kernels::LowRankTerm low_rank() const override {
    const bool drops = factors.a->is_training() && config.params.dropout > 0;
    if (factors.magnitudes || drops) return {};
    return {factors.a->weight, factors.b->weight, this->scale()};
  }
  void follow(const StageParameter& weight, std::vector<StageParameter>& parameters) const override {
    follow_weights(weight, parameters);
  }

 private:
  const at::Tensor weight_;  // the linear's
};

class GroupedLoraBranch final : public GroupedLinearBranch, public LowRank<GroupedLinear> {
 public:
  using LowRank<GroupedLinear>::LowRank;
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const override {
    return product(rows, offsets);
  }
  void follow(const StageParameter& weight, std::vector<StageParameter>& parameters) const override {
    follow_weights(weight, parameters);
  }
};

std::shared_ptr<const LoraBranch> branch_of(const Linear& leaf) {
  return std::dynamic_pointer_cast<const LoraBranch>(leaf.branch);
}

std::shared_ptr<const GroupedLoraBranch> branch_of(const GroupedLinear& leaf) {
  return std::dynamic_pointer_cast<const GroupedLoraBranch>(leaf.branch);
}

std::string path_of(const StageParameter& weight) {
  return weight.name.substr(0, weight.name.rfind('.'));
}

std::shared_ptr<LoraBranch> make_branch(ParameterMaker& make, Linear& leaf, const LoraConfig& config,
                                        const std::string& path) {
  const std::int64_t out = leaf.weight.size(0), in = leaf.weight.size(1), r = config.params.r;
  Factors<Linear> factors{make.child<Linear>(leaf, "lora_A", in, r),
                          make.child<Linear>(leaf, "lora_B", r, out)};
  if (config.params.use_dora) factors.magnitudes = make.child<Magnitudes>(leaf, "lora_magnitude_vector", out);
  return std::make_shared<LoraBranch>(config, path, std::move(factors), leaf.weight);
}

std::shared_ptr<GroupedLoraBranch> make_branch(ParameterMaker& make, GroupedLinear& leaf,
                                               const LoraConfig& config, const std::string& path) {
  D9D_REQUIRE(
      !config.params.use_dora,
      "{} is of experts, which cannot have use_dora; set it to false, or write a pattern that does not "
      "match experts",
      path);
  const auto& shape = leaf.weight.sizes();
  Factors<GroupedLinear> factors{
      make.child<GroupedLinear>(leaf, "lora_A", shape[0], shape[2], config.params.r),
      make.child<GroupedLinear>(leaf, "lora_B", shape[0], config.params.r, shape[1])};
  return std::make_shared<GroupedLoraBranch>(config, path, std::move(factors));
}

// Lists the factors after their weight, with their initial distributions, as parameters of an adapter.
void list_factors(AdaptedModel& model, const StageParameter& weight, std::vector<StageParameter> factors) {
  const double in = static_cast<double>(weight.layout.global_shape().back());
  factors[0].initial = {Initial::Kind::uniform, static_cast<float>(1 / std::sqrt(in))};
  factors[1].initial = {Initial::Kind::constant, 0.0F};
  model.add_adapter(weight, std::move(factors));
}

template <class Leaf>
bool attach(AdaptedModel& model, Leaf& leaf, const LoraConfig& config) {
  if (leaf.branch) return false;
  const StageParameter weight = model.parameter(leaf.weight);
  ParameterMaker make(weight.tensor.scalar_type(), weight.tensor.device(), /*stddev=*/0);
  const std::string path = path_of(weight);
  leaf.branch = make.within(path, [&] { return make_branch(make, leaf, config, path); });
  list_factors(model, weight, make.parameters());
  return true;
}

template <class Leaf>
void merge_leaf(AdaptedModel& model, Leaf& leaf) {
  const auto branch = branch_of(leaf);
  if (!branch) return;
  leaf.weight.detach().copy_(branch->merged(leaf.weight));
  const auto take_away = [&](const auto& factor, const char* name) {
    if (!factor) return;
    model.remove(factor->weight);
    leaf.unregister_module(name);
  };
  take_away(branch->factors.a, "lora_A");
  take_away(branch->factors.b, "lora_B");
  take_away(branch->factors.magnitudes, "lora_magnitude_vector");
  leaf.branch = nullptr;
}

class Lora final : public PeftMethod {
 public:
  explicit Lora(const LoraConfig& config) : config_(config), pattern_(config.module_name_pattern) {}

  std::size_t inject(AdaptedModel& model) const override {
    std::size_t attached = 0;
    each_linear(model.modules(pattern_),
                [&](auto& leaf) { attached += attach(model, leaf, config_) ? 1 : 0; });
    return attached;
  }

  void merge(AdaptedModel& model) const override {
    each_linear(model.modules(pattern_), [&](auto& leaf) { merge_leaf(model, leaf); });
  }

 private:
  const LoraConfig config_;
  const ModulePattern pattern_;
};

template <class Leaf>
void add_adapter(const AdaptedModel& model, const Leaf& leaf, std::vector<LoraAdapter>& adapters) {
  const auto branch = branch_of(leaf);
  if (!branch) return;
  const StageParameter& weight = model.parameter(leaf.weight);
  LoraAdapter adapter{branch->config,
                      path_of(weight),
                      weight,
                      model.parameter(branch->factors.a->weight),
                      model.parameter(branch->factors.b->weight),
                      {}};
  if (branch->factors.magnitudes) adapter.magnitudes = model.parameter(branch->factors.magnitudes->weight);
  adapters.push_back(std::move(adapter));
}

const StageParameter* named(const std::vector<StageParameter>& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const StageParameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

// Refuses rows of length 0: DoRA divides by the length, which gives no number, as in peft. `first`: the
// index of the row that has the first length.
void require_directions(const at::Tensor& lengths, const StageParameter& weight, std::int64_t first) {
  const at::Tensor zeros = at::nonzero(at::eq(lengths, 0)).flatten();
  D9D_REQUIRE(
      zeros.numel() == 0,
      "{}: row {} is zeros, which have no direction for use_dora to keep (the loss would be NaN); leave the "
      "module out of module_name_pattern, or set use_dora: false",
      weight.name, first + zeros[0].item<std::int64_t>());
}

}  // namespace

std::unique_ptr<PeftMethod> make_lora(const LoraConfig& config) {
  return std::make_unique<Lora>(config);
}

std::vector<LoraAdapter> lora_adapters(StageModule& stage) {
  const AdaptedModel model(stage);
  std::vector<LoraAdapter> adapters;
  each_linear(model.modules(), [&](const auto& leaf) { add_adapter(model, leaf, adapters); });
  return adapters;
}

std::vector<StageParameter> weights_without_adapter(StageModule& stage) {
  const AdaptedModel model(stage);
  std::vector<StageParameter> weights;
  each_linear(model.modules(), [&](const auto& leaf) {
    if (!leaf.branch) weights.push_back(model.parameter(leaf.weight));
  });
  return weights;
}

void begin_magnitudes(const std::vector<LoraAdapter>& adapters,
                      const std::vector<StageParameter>& parameters) {
  for (const LoraAdapter& adapter : adapters) {
    if (!adapter.magnitudes) continue;
    const StageParameter* const m = named(parameters, adapter.magnitudes->name);
    if (m == nullptr) continue;
    const StageParameter* const weight = named(parameters, adapter.weight.name);
    D9D_CHECK(weight != nullptr, "{} is not where its adapter is", adapter.weight.name);
    const Slice rows = m->layout.local_slice(), held = weight->layout.local_slice();
    D9D_CHECK(held.begin[0] <= rows.begin[0] && rows.end[0] <= held.end[0],
              "this rank holds other rows of {} than of {}", weight->name, m->name);
    const at::Tensor block =
        weight->tensor.detach().narrow(0, rows.begin[0] - held.begin[0], rows.end[0] - rows.begin[0]);
    const at::Tensor lengths = row_lengths(block);
    if (!adapter.config.from) require_directions(lengths, *weight, rows.begin[0]);
    m->tensor.detach().copy_(lengths);
  }
}

}  // namespace d9d
