#pragma once
// Access to the modules and parameters of one pipeline stage for methods of fine-tuning, which change them.

#include <string>
#include <vector>

#include "runtime/peft/module_pattern.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace torch::nn {
class Module;
}

namespace d9d {

class AdaptedModel {
 public:
  // Keeps a reference to `stage`. Input error when it is no torch::nn::Module.
  explicit AdaptedModel(StageModule& stage);

  struct NamedModule {
    std::string path;  // names joined by dots; empty for the whole stage
    torch::nn::Module* module = nullptr;
  };
  // Returns all modules, parents before children, without the children of linears, which are adapters.
  std::vector<NamedModule> modules() const;
  std::vector<NamedModule> modules(const ModulePattern& pattern) const;

  const std::vector<StageParameter>& parameters() const { return parameters_; }
  // Returns the parameter that has this tensor. It is a bug when there is none.
  const StageParameter& parameter(const at::Tensor& tensor) const;
  void set_trainable(bool trainable) const;  // all parameters
  void let_train(const std::vector<std::string>& names) const;

  // Adds parameters to the list of the stage, right after that of `tensor`. The place in the list decides when backward
  // is expected to complete their gradients (train/flat_parameters.hpp).
  void insert_after(const at::Tensor& tensor, const std::vector<StageParameter>& added);
  // The same for the parameters of an adapter of `weight`, in the order in which they were made: folders of weights do
  // not contain them, and optimizers see the role of the weight.
  void add_adapter(const StageParameter& weight, std::vector<StageParameter> added);
  void remove(const at::Tensor& tensor);
  // Passes the changed list of parameters to the stage.
  void finish() { stage_.set_parameters(parameters_); }

 private:
  std::vector<StageParameter>::const_iterator find(const at::Tensor& tensor) const;

  StageModule& stage_;
  torch::nn::Module& root_;
  std::vector<StageParameter> parameters_;
};

}  // namespace d9d
