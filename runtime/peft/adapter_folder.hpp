#pragma once
// Reads the folder of an adapter that peft saved, and adds the adapter to tensors of a Hugging Face folder.
// Experts that the model's folder holds fused (transformers 5: gate and up in one tensor of all experts) are
// found by the names of single experts. Blocks on the disk.

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
  // Input error when the folder has no LoRA that can be computed
  // (adapter_options.hpp), or a factor without its pair.
  AdapterFolder(const Disk& disk, const std::string& directory);

  const std::string& directory() const { return directory_; }
  std::string base() const;       // base_model_name_or_path; empty when the file has none
  std::string task_type() const;  // in peft's words

  // Returns the tensors that the adapter changes, of a folder with the names `base`. Input error, with
  // names, when the adapter has modules that the folder lacks, or changes one of an embedding and a head that
  // are one tensor there.
  Names changed_of(const Names& base) const;
  // Returns whole tensors of the adapter's folder that a folder with the names
  // `base` lacks, for example a new head.
  std::vector<TensorSpec> added_to(const Names& base) const;
  // Returns the sum for a tensor of the base folder in fp32 (fp64 for fp64), or the whole tensor that the
  // adapter has for it, as it is stored. A module with factors may have its own base, which peft stores for
  // embeddings and heads as `base_layer`: then that is the other term of the sum. Input error for NaN or
  // infinite values, and for tensors of another shape.
  at::Tensor changed(const std::string& name, const at::Tensor& values) const;
  // Returns an added tensor, as it is stored.
  at::Tensor added(const std::string& name) const { return read(whole_.at(name)); }

 private:
  struct Factors {
    std::string a, b, magnitudes;  // in the file
  };
  void require_untied(const Names& base) const;
  at::Tensor read(const std::string& stored) const;
  at::Tensor merged(const std::string& module, const at::Tensor& weight) const;
  at::Tensor with_experts(const std::string& name, const at::Tensor& values) const;

  const std::string directory_;
  const nlohmann::ordered_json config_;
  const SafetensorsReader reader_;
  std::map<std::string, Factors> factors_;    // by module
  std::map<std::string, std::string> whole_;  // name in the model's folder -> name in the file
};

// Whether the folder holds an adapter alone: false for a model's folder with an adapter in it.
bool is_adapter_folder(const Disk& disk, const std::string& directory);

// Returns the folder of the adapter's model: `given`, or the one that its adapter_config.json names. Input
// error when there is no such folder.
std::string base_of_adapter(const Disk& disk, const AdapterFolder& adapter, const std::string& given);

}  // namespace d9d
