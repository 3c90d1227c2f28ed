#include "runtime/nn/parallel/qwen3_plan.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/parallel/fully_shard.hpp"
#include "runtime/nn/parallel/replicate.hpp"
#include "runtime/nn/qwen3_model.hpp"

namespace d9d {

StageParameters parallelize_qwen3(StageModule& stage, StageGroups& groups, const ParallelOptions& options) {
  auto* const model = dynamic_cast<Qwen3Model*>(&stage);
  D9D_CHECK(model != nullptr, "the stage is no Qwen3 model");
  StageParameters parameters = stage.parameters();
  parallelize_fully_shard(parameters, model->unit_uses(), "dp_cp_shard", groups, options.fully_shard);
  if (options.zero1) parallelize_zero1(parameters, model->unit_uses(), "dp_replicate", groups);
  parallelize_replicate(parameters, groups.domains().mesh_for(kDenseDomain), dense_axes(), groups.rank());
  return parameters;
}

}  // namespace d9d
