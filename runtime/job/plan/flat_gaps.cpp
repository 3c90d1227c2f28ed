#include "runtime/job/plan/flat_gaps.hpp"

#include <algorithm>

#include "runtime/family/family_model.hpp"
#include "runtime/job/plan/flat_options.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "runtime/nn/plan/fully_shard.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/frozen_parameters.hpp"

namespace d9d {
namespace {

void add(std::int64_t gap, std::int64_t previous, WholeGaps& gaps) {
  gaps.of_all += gap;
  gaps.of_two = std::max(gaps.of_two, previous + gap);
}

void add_units(const std::vector<UnitGaps>& units, FlatGaps& gaps) {
  UnitGaps previous;
  for (const UnitGaps& unit : units) {
    add(unit.values, previous.values, gaps.values);
    add(unit.gradients, previous.gradients, gaps.gradients);
    previous = unit;
  }
}

// Builds a stage as the rank does, without storage. Returns what the rank holds of its parameters.
StageParameters add_stage(const LoadedJob& loaded, const StagePosition& position, StageGroups& groups,
                          FlatGaps& gaps) {
  const JobConfig& job = loaded.job;
  BuildOptions options{.dtype = scalar_type_of(std::get<FamilyProvider>(job.model_provider).dtype),
                       .device = at::Device(at::kMeta)};
  options.split = loaded.split;
  const std::unique_ptr<StageModule> stage = loaded.model->build_stage(position, options);
  adapt(job, *loaded.model, *stage);
  if (job.inference)
    for (const StageParameter& parameter : stage->parameters()) parameter.tensor.requires_grad_(false);
  StageParameters parameters = loaded.model->parallelize(*stage, groups, job.parallelism);
  add_units(gaps_in_units(uses_of_causal_lm(*stage)), gaps);
  return parameters;
}

}  // namespace

FlatGaps flat_gaps(const LoadedJob& loaded, const std::vector<StagePosition>& stages) {
  FlatGaps gaps;
  const MeshDomains domains(loaded.job.mesh);
  StageGroups groups(domains, 0, [](auto&&...) { return nullptr; });
  StageParameters all;  // of all stages: they share buffers
  for (const StagePosition& position : stages) {
    const StageParameters own = add_stage(loaded, position, groups, gaps);
    all.insert(all.end(), own.begin(), own.end());
  }
  gaps.frozen = gaps_of_frozen(all);
  gaps.trainable = flat_elements(all, flat_options(loaded.job.trainer.gradient_manager));
  for (const StageParameter& parameter : all)
    if (parameter.tensor.requires_grad()) gaps.trainable -= parameter.tensor.numel();
  return gaps;
}

}  // namespace d9d
