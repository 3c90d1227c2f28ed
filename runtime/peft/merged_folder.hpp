#pragma once
// The tensors of a Hugging Face folder with an adapter added to them. Blocks on the disk.

#include "runtime/peft/adapter_folder.hpp"
#include "runtime/state/model/model_files.hpp"

namespace d9d {

// Both outlive this. Input errors as those of AdapterFolder::changed_of().
class MergedFolder final : public TensorSource {
 public:
  MergedFolder(const ModelFiles& base, const AdapterFolder& adapter);

  Names names() const;  // those of the base folder and what the adapter adds
  const std::vector<TensorSpec>& added() const { return added_; }
  bool is_changed(const std::string& name) const { return changed_.contains(name); }

  const TensorSpec& spec(const std::string& name) const override;
  // A merged tensor is computed as a whole.
  bool reads_boxes(const std::string& name) const override { return !is_changed(name) && !adds(name); }
  at::Tensor read(const std::string& name) const override;
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override;

 private:
  const TensorSpec* adds(const std::string& name) const;

  const ModelFiles& base_;
  const AdapterFolder& adapter_;
  const Names changed_;
  const std::vector<TensorSpec> added_;
};

}  // namespace d9d
