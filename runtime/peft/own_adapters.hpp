#pragma once
// The branches that plugins' methods put at the linears of a stage (linear_method.hpp).

#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class OwnBranch;

struct OwnAdapter {
  std::shared_ptr<const OwnBranch> branch;
  StageParameter weight;
  std::vector<StageParameter> added;

  std::string name_of(const StageParameter& parameter) const;  // after the linear's
  // The branch's merged() for the weight's values. `values`: of `added`, by name after the linear's.
  at::Tensor merged(const at::Tensor& values_of_weight, const TensorMap& values) const;
};
std::vector<OwnAdapter> own_adapters(StageModule& stage);
// Input error that names a parameter of an adapter which no export can add to a weight, or a branch without merged().
void require_merged_form(StageModule& stage);

}  // namespace d9d
