#include "runtime/nn/plan/fully_shard.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/group_use.hpp"
#include "runtime/nn/plan/gathered_unit.hpp"
#include "runtime/tensor/flat_place.hpp"

namespace d9d {
namespace {

using UnitPtr = std::shared_ptr<GatheredUnit>;

struct Use {
  std::vector<UnitPtr> units;  // one per kind of weights
  bool reads_values_in_backward = true;
};

// The uses of a stage in forward order, shared by their hooks.
struct Sequence {
  std::vector<Use> uses;
  bool keep_last_for_backward = false;

  void request(std::size_t position) const {
    for (const UnitPtr& unit : uses[position].units) unit->request();
  }
};

// Requests the values of the next use while the current one computes.
class UseHook final : public UnitHook {
 public:
  UseHook(std::shared_ptr<const Sequence> sequence, std::size_t position)
      : sequence_(std::move(sequence)), position_(position) {}

  void before_forward(bool recompute) override {
    for (const UnitPtr& unit : use().units) unit->ensure();
    recompute ? request_for_backward() : request_for_forward();
  }
  void after_forward(bool recompute) override {
    const bool backward_follows =
        recompute || (sequence_->keep_last_for_backward && position_ + 1 == sequence_->uses.size());
    if (!backward_follows) release();
  }
  void before_backward() override {
    for (const UnitPtr& unit : use().units) {
      if (use().reads_values_in_backward) unit->ensure();
      unit->open_gradient();
    }
    request_for_backward();
  }
  void after_backward() override { release(); }

  const Use& use() const { return sequence_->uses[position_]; }

 private:
  void request_for_forward() const {
    if (position_ + 1 < sequence_->uses.size()) sequence_->request(position_ + 1);
  }
  void request_for_backward() const {
    if (position_ > 0 && sequence_->uses[position_ - 1].reads_values_in_backward) {
      sequence_->request(position_ - 1);
    }
  }
  void release() const {
    for (const UnitPtr& unit : use().units) unit->release();
  }

  const std::shared_ptr<const Sequence> sequence_;
  const std::size_t position_;
};

// How the parameters of one domain are sharded.
struct Strategy {
  std::string axis;
  const std::vector<std::string>& all_axes;  // of the domain
  const Mesh& mesh;
  const StageGroups& groups;
  GatheredUnitOptions options;  // of all its units; the name is each unit's own
};

// `experts` is for parameters of the expert domain, `dense` for all others.
struct Strategies {
  std::optional<Strategy> dense;
  std::optional<Strategy> experts;
};

Layout at_index(const Layout& layout, const std::string& axis, int index) {
  std::vector<LayoutAxis> axes = layout.axes();
  for (LayoutAxis& each : axes) {
    if (each.name == axis) each.index = index;
  }
  return Layout(layout.global_shape(), std::move(axes));
}

// Appends a weight with this layout to the map: the rows of rank 0, then those of rank 1, and so on.
void add_to_map(const Layout& layout, std::int64_t numel, const std::string& axis, ShardMap& map) {
  std::int64_t begin = map.whole_size;
  for (int rank = 0; rank < static_cast<int>(map.shard_sizes.size()); ++rank) {
    std::int64_t& shard = map.shard_sizes[static_cast<std::size_t>(rank)];
    const std::int64_t count = at_index(layout, axis, rank).local_slice().num_elements();
    if (count > 0) map.pieces.push_back({rank, begin, shard, count});
    begin += count;
    shard += count;
  }
  D9D_CHECK(begin - map.whole_size == numel, "shards have {} elements of {}", begin - map.whole_size, numel);
  map.whole_size = begin;
}

// The parameter's layout with a shard on the strategy's axis. Other axes of the domain stay as they were
// placed; the parameter is replicated over those that were not.
Layout sharded(const StageParameter& parameter, const Strategy& strategy) {
  std::vector<LayoutAxis> axes = parameter.layout.axes();
  std::erase_if(axes, [&](const LayoutAxis& axis) { return axis.name == strategy.axis; });
  for (const std::string& name : strategy.all_axes) {
    const auto lies = [&](const LayoutAxis& axis) { return axis.name == name; };
    if (std::any_of(axes.begin(), axes.end(), lies)) continue;
    const Placement placement = name == strategy.axis ? Placement::shard(0) : Placement::replicate();
    axes.push_back(axis_of(strategy.mesh, name, strategy.groups.rank(), placement));
  }
  return Layout(parameter.layout.global_shape(), std::move(axes));
}

bool lies_on_experts(const StageParameter& parameter) {
  const auto is_expert = [](const LayoutAxis& axis) {
    return std::find(expert_axes().begin(), expert_axes().end(), axis.name) != expert_axes().end();
  };
  const auto& axes = parameter.layout.axes();
  return std::any_of(axes.begin(), axes.end(), is_expert);
}

// Returns the strategy that shards this parameter, or null when it stays whole.
const Strategy* strategy_for(const StageParameter& parameter, const Strategies& strategies) {
  const auto& found = lies_on_experts(parameter) ? strategies.experts : strategies.dense;
  if (!found || parameter.tensor.dim() == 0) return nullptr;
  // ZeRO-1 gathers what the update changed, and no update changes a frozen parameter.
  return found->options.policy.gather_ahead && !parameter.tensor.requires_grad() ? nullptr : &*found;
}

UnitPtr make_unit(const std::vector<StageParameter*>& members, const std::string& name,
                  const Strategy& strategy) {
  ShardMap map;
  map.shard_sizes.resize(static_cast<std::size_t>(strategy.mesh.axis_size(strategy.axis)));
  std::vector<UnitWeight> weights;
  std::vector<std::int64_t> begins;
  std::int64_t own = 0;
  for (StageParameter* const member : members) {
    member->layout = sharded(*member, strategy);
    // Kernels read whole weights. The gaps between them are in no shard.
    if (!begins.empty())
      map.whole_size = begin_behind(members[begins.size() - 1]->tensor, map.whole_size, member->tensor);
    begins.push_back(map.whole_size);
    add_to_map(member->layout, member->tensor.numel(), strategy.axis, map);
    own += member->layout.local_slice().num_elements();
  }
  const at::Tensor& first = members.front()->tensor;
  const at::Tensor shards = at::empty({own}, first.options().requires_grad(false));
  std::int64_t begin = 0;
  for (StageParameter* const member : members) {
    const std::vector<std::int64_t> shape = member->layout.local_slice().shape();
    const std::int64_t count = member->layout.local_slice().num_elements();
    at::Tensor shard = shards.narrow(0, begin, count).view(shape).detach();
    shard.requires_grad_(member->tensor.requires_grad());
    begin += count;
    const std::int64_t in_whole = begins[weights.size()];
    weights.push_back({std::exchange(member->tensor, shard), shard, in_whole});
  }
  GatheredUnitOptions options = strategy.options;
  options.name = name;
  auto unit = std::make_shared<GatheredUnit>(std::move(options), std::move(weights), std::move(map));
  for (StageParameter* const member : members) member->unit = unit;
  return unit;
}

// Parameters of equal kind can be gathered and reduced together: strategy, dtype, trainable, the axes
// that their gradients are summed over, and the updates of a step that move them.
using Kind = std::tuple<const Strategy*, at::ScalarType, bool, std::vector<std::string>, std::vector<int>>;

Kind kind_of(const StageParameter& parameter, const Strategy& strategy) {
  const Layout layout = sharded(parameter, strategy);
  return {&strategy, parameter.tensor.scalar_type(), parameter.tensor.requires_grad(),
          layout.replicate_axes(), strategy.groups.moved_in(parameter.name)};
}

class Sharder {
 public:
  Sharder(StageParameters& parameters, Strategies strategies)
      : parameters_(parameters), strategies_(std::move(strategies)) {
    // Uses name weights by the module's tensor. make_unit() puts the shard in the list in place of this
    // tensor, so the identities are kept here before the first unit is made.
    for (StageParameter& parameter : parameters)
      by_tensor_[parameter.tensor.unsafeGetTensorImpl()] = &parameter;
  }

  Use make_use(const UnitUse& given) {
    Use use{{}, given.reads_values_in_backward};
    std::map<Kind, std::vector<StageParameter*>> kinds;
    for (StageParameter& parameter : parameters_) {
      const auto belongs = [&](const at::Tensor& weight) { return &parameter == find(weight); };
      if (std::none_of(given.weights.begin(), given.weights.end(), belongs)) continue;
      if (parameter.unit) {
        add(use, units_.at(parameter.unit.get()));
      } else if (const Strategy* strategy = strategy_for(parameter, strategies_)) {
        kinds[kind_of(parameter, *strategy)].push_back(&parameter);
      }
    }
    for (const auto& [kind, members] : kinds) {
      const UnitPtr unit = make_unit(members, given.name, *std::get<const Strategy*>(kind));
      units_[unit.get()] = unit;
      add(use, unit);
    }
    return use;
  }

 private:
  static void add(Use& use, const UnitPtr& unit) {
    if (std::find(use.units.begin(), use.units.end(), unit) == use.units.end()) use.units.push_back(unit);
  }
  const StageParameter* find(const at::Tensor& weight) const {
    const auto found = by_tensor_.find(weight.unsafeGetTensorImpl());
    D9D_CHECK(found != by_tensor_.end(), "a tensor of {} elements is no parameter of the stage",
              weight.numel());
    return found->second;
  }

  StageParameters& parameters_;
  const Strategies strategies_;
  std::map<const c10::TensorImpl*, StageParameter*> by_tensor_;
  std::map<const ShardedUnit*, UnitPtr> units_;
};

std::optional<Strategy> strategy_of(const std::string& domain, const std::string& axis,
                                    const std::vector<std::string>& all_axes, StageGroups& groups,
                                    const UnitPolicy& policy) {
  const Mesh& mesh = groups.domains().mesh_for(domain);
  if (mesh.axis_size(axis) == 1) return std::nullopt;
  return Strategy{axis,
                  all_axes,
                  mesh,
                  groups,
                  {.axes = {axis},
                   .communicator = groups.open(domain, {axis}, gather_use),
                   .thread = groups.communication_thread(),
                   .policy = policy}};
}

void shard(StageParameters& parameters, const std::vector<UnitUse>& uses, const std::string& axis,
           StageGroups& groups, const UnitPolicy& policy, bool keep_last_for_backward) {
  if (groups.domains().mesh_for(dense_domain).axis_size(axis) == 1) return;
  const bool has_experts = std::any_of(parameters.begin(), parameters.end(), lies_on_experts);
  Sharder sharder(parameters,
                  {strategy_of(dense_domain, axis, dense_axes(), groups, policy),
                   has_experts ? strategy_of(expert_domain, "ep_replicate", expert_axes(), groups, policy)
                               : std::nullopt});
  const auto sequence = std::make_shared<Sequence>();
  sequence->keep_last_for_backward = keep_last_for_backward;
  for (const UnitUse& use : uses) sequence->uses.push_back(sharder.make_use(use));
  for (std::size_t i = 0; i < uses.size(); ++i) uses[i].unit->hook = std::make_shared<UseHook>(sequence, i);
}

}  // namespace

void parallelize_fully_shard(StageParameters& parameters, const std::vector<UnitUse>& uses,
                             const std::string& axis, StageGroups& groups, const FullyShardOptions& options) {
  const bool pipeline = groups.domains().mesh_for(dense_domain).axis_size("pp") > 1;
  shard(parameters, uses, axis, groups, fully_shard_policy(options, pipeline), !pipeline);
}

void parallelize_zero1(StageParameters& parameters, const std::vector<UnitUse>& uses, const std::string& axis,
                       StageGroups& groups) {
  shard(parameters, uses, axis, groups, zero1_policy(), false);
}

UnitPolicy fully_shard_policy(const FullyShardOptions& options, bool pipeline) {
  const bool keep = options.reshard_after_forward == ReshardAfterForward::never ||
                    (options.reshard_after_forward == ReshardAfterForward::default_ && pipeline);
  return {.keep_gathered = keep, .reduce_each_microbatch = options.reduce == ReducePeriod::microbatch};
}

UnitPolicy zero1_policy() {
  return {.keep_gathered = true, .gather_ahead = true};
}

std::vector<UnitGaps> gaps_in_units(const std::vector<UnitUse>& uses) {
  std::vector<UnitGaps> gaps(uses.size());
  std::set<UnitPtr> seen;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto* const hook = dynamic_cast<const UseHook*>(uses[i].unit->hook.get());
    if (hook == nullptr) continue;
    for (const UnitPtr& unit : hook->use().units) {
      if (!seen.insert(unit).second) continue;
      gaps[i].values += unit->gap_elements();
      if (unit->is_trainable()) gaps[i].gradients += unit->gap_elements();
    }
  }
  return gaps;
}

}  // namespace d9d
