#include "runtime/job/plan/flat_gaps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/family/family_model.hpp"
#include "runtime/job/plan/flat_options.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/flat_place.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/flat_buffer.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/frozen_parameters.hpp"

namespace d9d {
namespace {

// The ranks of a stage, of which only tensor and expert parallelism cut parameters: a unit is whole there.
DeviceMeshParameters without_shards(const DeviceMeshParameters& mesh) {
  return {.data_parallel_replicate = mesh.data_parallel() * mesh.context_parallel(),
          .tensor_parallel = mesh.tensor_parallel,
          .expert_parallel = mesh.expert_parallel};
}

bool is_of_experts(const StageParameter& parameter) {
  const auto& axes = parameter.layout.axes();
  return std::any_of(axes.begin(), axes.end(), [](const LayoutAxis& axis) {
    return std::find(expert_axes().begin(), expert_axes().end(), axis.name) != expert_axes().end();
  });
}

// What lies in one buffer, or in one unit: of experts or not, dtype, whether it trains, the axes that it is copied
// over.
using Kind = std::tuple<bool, at::ScalarType, bool, std::vector<std::string>>;

// The shards of units in a buffer: a unit's has no gaps, the next one begins aligned.
struct ShardBuffer {
  std::int64_t end = 0, elements = 0;
};
using ShardBuffers = std::map<Kind, ShardBuffer>;

// Of one stage. Adds its shards to those of the rank's other stages.
class StageGaps {
 public:
  StageGaps(const LoadedJob& loaded, StagePosition position, int shards, ShardBuffers& buffers)
      : job_(loaded.job), shards_(shards), domains_(without_shards(loaded.job.mesh)), buffers_(buffers) {
    const auto& provider = std::get<FamilyProvider>(job_.model_provider);
    BuildOptions options{.dtype = scalar_type_of(provider.dtype), .device = at::Device(at::kMeta)};
    options.split = loaded.split;
    stage_ = loaded.model->build_stage(position, options);
    adapt(job_, *loaded.model, *stage_);
    StageGroups groups(domains_, 0, [](auto&&...) { return nullptr; });
    parameters_ = loaded.model->parallelize(*stage_, groups, {});
    if (job_.inference)
      for (const StageParameter& parameter : parameters_) parameter.tensor.requires_grad_(false);
    if (shards > 1) take_units();
  }

  const StageParameters& not_in_units() const { return parameters_; }
  // By unit, in forward order: all, and those in what trains.
  const std::vector<std::int64_t>& units() const { return units_; }
  const std::vector<std::int64_t>& trainable_units() const { return trainable_units_; }

 private:
  using Members = std::vector<const StageParameter*>;

  bool is_sharded(const StageParameter& parameter) const {
    if (parameter.tensor.dim() == 0) return false;
    if (is_of_experts(parameter) && domains_.mesh_for(expert_domain).axis_size("ep_replicate") == 1)
      return false;
    const bool zero1 = job_.mesh.data_parallel_shard * job_.mesh.context_parallel_shard == 1;
    return !zero1 || parameter.tensor.requires_grad();
  }

  // Takes what units have out of parameters_. As nn/plan/fully_shard makes units.
  void take_units() {
    std::set<const c10::TensorImpl*> taken;
    auto* const model = dynamic_cast<CausalLm*>(stage_.get());
    if (model == nullptr) return;  // a plan of the family's own
    for (const UnitUse& use : model->unit_uses()) {
      std::map<Kind, Members> kinds;
      for (const StageParameter& parameter : parameters_) {
        const auto is_it = [&](const at::Tensor& weight) { return weight.is_same(parameter.tensor); };
        if (!is_sharded(parameter) || std::none_of(use.weights.begin(), use.weights.end(), is_it)) continue;
        if (!taken.insert(parameter.tensor.unsafeGetTensorImpl()).second) continue;
        kinds[{is_of_experts(parameter), parameter.tensor.scalar_type(), parameter.tensor.requires_grad(),
               parameter.layout.replicate_axes()}]
            .push_back(&parameter);
      }
      units_.push_back(0);
      trainable_units_.push_back(0);
      for (const auto& [kind, members] : kinds) add(kind, members);
    }
    std::erase_if(parameters_, [&](const StageParameter& parameter) {
      return taken.contains(parameter.tensor.unsafeGetTensorImpl());
    });
  }

  void add(const Kind& kind, const Members& members) {
    std::int64_t end = 0, elements = 0, own = 0;
    const StageParameter* previous = nullptr;
    const bool experts = is_of_experts(*members.front());
    const int shards = experts ? domains_.mesh_for(expert_domain).axis_size("ep_replicate") : shards_;
    for (const StageParameter* const member : members) {
      const std::int64_t count = member->tensor.numel(), rows = member->tensor.size(0);
      if (previous != nullptr) end = begin_behind(previous->tensor, end, member->tensor);
      end += count;
      elements += count;
      own += rows == 0 ? 0 : (rows + shards - 1) / shards * (count / rows);
      previous = member;
    }
    units_.back() += end - elements;
    if (!members.front()->tensor.requires_grad()) return;
    trainable_units_.back() += end - elements;
    ShardBuffer& buffer = buffers_[kind];
    buffer.end = rounded_up(buffer.end, alignment_bytes / narrower_bytes(*members.front())) + own;
    buffer.elements += own;
  }
  // Of a value and of its gradient.
  std::int64_t narrower_bytes(const StageParameter& parameter) const {
    const auto of_value = static_cast<std::int64_t>(parameter.tensor.element_size());
    const auto of_gradient = flat_options(job_.trainer.gradient_manager).grad_dtype;
    return of_gradient ? std::min(of_value, static_cast<std::int64_t>(c10::elementSize(*of_gradient)))
                       : of_value;
  }

  const JobConfig& job_;
  const int shards_;
  const MeshDomains domains_;
  std::unique_ptr<StageModule> stage_;
  StageParameters parameters_;  // not in units
  std::vector<std::int64_t> units_, trainable_units_;
  ShardBuffers& buffers_;
};

void add_units(const std::vector<std::int64_t>& units, UnitGaps& gaps) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    gaps.of_all += units[i];
    gaps.of_two = std::max(gaps.of_two, units[i] + (i > 0 ? units[i - 1] : 0));
  }
}

}  // namespace

FlatGaps flat_gaps(const LoadedJob& loaded, const std::vector<StagePosition>& stages, int shards) {
  FlatGaps gaps;
  StageParameters flat;  // of all stages: they share buffers
  ShardBuffers buffers;
  for (const StagePosition& position : stages) {
    const StageGaps stage(loaded, position, shards, buffers);
    flat.insert(flat.end(), stage.not_in_units().begin(), stage.not_in_units().end());
    add_units(stage.units(), gaps.values);
    add_units(stage.trainable_units(), gaps.gradients);
  }
  for (const auto& [kind, buffer] : buffers) gaps.trainable += buffer.end - buffer.elements;
  gaps.frozen = gaps_of_frozen(flat);
  gaps.trainable += flat_elements(flat, flat_options(loaded.job.trainer.gradient_manager));
  for (const StageParameter& parameter : flat)
    if (parameter.tensor.requires_grad()) gaps.trainable -= parameter.tensor.numel();
  return gaps;
}

}  // namespace d9d
