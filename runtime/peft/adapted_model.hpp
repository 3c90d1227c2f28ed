#pragma once
// The modules and parameters of one pipeline stage while methods of fine-tuning change them.

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "runtime/peft/module_pattern.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class AdaptedModel {
 public:
  // Keeps a reference. Input error when the stage is no torch::nn::Module.
  explicit AdaptedModel(StageModule& stage);

  struct NamedModule {
    std::string path;  // of names, joined by dots; empty for the whole stage
    torch::nn::Module* module = nullptr;
  };
  // Parents before children. A linear's children are left out: those are adapters.
  std::vector<NamedModule> modules() const;
  std::vector<NamedModule> modules(const ModulePattern& pattern) const;

  const std::vector<StageParameter>& parameters() const { return parameters_; }
  // The parameter that has this tensor; a bug when there is none.
  const StageParameter& parameter(const at::Tensor& tensor) const;
  void set_trainable(bool trainable) const;  // all parameters
  void let_train(const std::vector<std::string>& names) const;

  // New parameters of the stage, behind an old one: the order in which backward completes their gradients.
  void insert_after(const at::Tensor& tensor, const std::vector<StageParameter>& added);
  void remove(const at::Tensor& tensor);
  // Gives the stage the parameters as they are now.
  void finish() { stage_.set_parameters(parameters_); }

 private:
  std::vector<StageParameter>::const_iterator find(const at::Tensor& tensor) const;

  StageModule& stage_;
  torch::nn::Module& root_;
  std::vector<StageParameter> parameters_;
};

}  // namespace d9d
