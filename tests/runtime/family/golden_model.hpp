#pragma once
// A golden case of tests/golden as a model with its weights, and helpers to run and compare.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d::test {

TensorMap read_safetensors(const std::string& path);
// tests/golden/<name>; a name without a family is one of qwen3.
std::string golden_folder(const std::string& name);

struct GoldenModel {
  std::shared_ptr<FamilyModel> model;
  TensorMap weights;  // under d9d's names
  TensorMap expect;
  TensorMap inputs;  // input_ids
  TensorMap labels;  // labels

  Qwen3Config qwen3() const { return dynamic_cast<const Qwen3Config&>(*model); }
};
// `change`: of the model, before the folder's tensors are named for it.
GoldenModel golden_model(const std::string& name, const std::function<void(FamilyModel&)>& change = {});

// A stage with the golden weights. grad() of every parameter is a zeroed buffer.
std::unique_ptr<StageModule> stage_of(const GoldenModel& golden, StagePosition position = {},
                                      const BuildOptions& options = {});
void zero_gradients(StageModule& stage);
TensorMap gradients_of(StageModule& stage);

// Mean of the tokens that count, and its backward pass.
at::Tensor mean_loss(const at::Tensor& token_loss, const at::Tensor& labels);
void run_backward(const at::Tensor& output, const at::Tensor& gradient = {});

// The largest difference over the largest magnitude of `expected`.
double relative_difference(const at::Tensor& actual, const at::Tensor& expected);
bool bitwise_equal(const at::Tensor& a, const at::Tensor& b);

}  // namespace d9d::test
