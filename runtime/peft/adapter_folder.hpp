#pragma once
// The folder of an adapter as peft saved it, and the sums with tensors of a Hugging Face folder.
// Experts that the model's folder holds fused (transformers 5: gate and up in one tensor of all experts) are found
// by the names of single ones. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {

class AdapterFolder {
 public:
  // Input error: not the folder of a LoRA that can be computed (adapter_options.hpp), factors without their pair.
  AdapterFolder(const Disk& disk, const std::string& directory);

  const std::string& directory() const { return directory_; }
  std::string base() const;       // base_model_name_or_path; empty when it says none
  std::string task_type() const;  // as peft names them

  // The tensors of a folder with these names that the adapter changes. Input error, with names, when it has
  // adapters of modules that the folder lacks.
  Names changed_of(const Names& base) const;
  // Tensors that lie whole in the adapter's folder and that such a folder lacks: a new head.
  std::vector<TensorSpec> added_to(const Names& base) const;
  // What becomes of a tensor of the base folder, in its dtype; sums are in fp32. Or an added one, as it is.
  at::Tensor changed(const std::string& name, const at::Tensor& values) const;
  at::Tensor added(const std::string& name) const { return reader_.read(whole_.at(name)); }

 private:
  struct Factors {
    std::string a, b, magnitudes;  // in the file
  };
  at::Tensor merged(const std::string& module, const at::Tensor& weight) const;
  at::Tensor with_experts(const std::string& name, const at::Tensor& values) const;

  const std::string directory_;
  const nlohmann::ordered_json config_;
  const SafetensorsReader reader_;
  std::map<std::string, Factors> factors_;    // by module
  std::map<std::string, std::string> whole_;  // tensors of the model's folder, by name -> in the file
};

// Whether the folder is that of an adapter, and not that of a model that has one beside it.
bool is_adapter_folder(const Disk& disk, const std::string& directory);

// The folder of the model that the adapter belongs to: `given`, or what its adapter_config.json says. Input error
// when that is no folder here.
std::string base_of_adapter(const Disk& disk, const AdapterFolder& adapter, const std::string& given);

}  // namespace d9d
