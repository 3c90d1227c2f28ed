#include "runtime/nn/parallel/qwen3_plan.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/parallel/replicate.hpp"
#include "runtime/nn/parallel/tensor_parallel.hpp"
#include "runtime/nn/qwen3_model.hpp"

namespace d9d {

StageParameters parallelize_qwen3(StageModule& stage, StageGroups& groups,
                                  const ParallelOptions& /*options*/) {
  auto* model = dynamic_cast<Qwen3Model*>(&stage);
  D9D_CHECK(model != nullptr, "the plan of Qwen3 is given the stage of another model");
  StageParameters parameters = stage.parameters();
  parallelize_tensor_parallel(*model, parameters, groups);
  parallelize_replicate(parameters, groups.domains().mesh_for(kDenseDomain), dense_axes(), groups.rank());
  return parameters;
}

}  // namespace d9d
