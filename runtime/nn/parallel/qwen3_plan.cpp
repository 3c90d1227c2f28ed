#include "runtime/nn/parallel/qwen3_plan.hpp"

#include "runtime/nn/parallel/replicate.hpp"

namespace d9d {

StageParameters parallelize_qwen3(StageModule& stage, StageGroups& groups,
                                  const ParallelOptions& /*options*/) {
  StageParameters parameters = stage.parameters();
  parallelize_replicate(parameters, groups.domains().mesh_for(kDenseDomain), dense_axes(), groups.rank());
  return parameters;
}

}  // namespace d9d
