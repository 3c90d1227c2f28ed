#pragma once
// A Hugging Face folder with an adapter added to its tensors. Blocks on the disk.

#include "runtime/peft/adapter_folder.hpp"
#include "runtime/state/model/model_files.hpp"

namespace d9d {

// Keeps references to `base` and `adapter`. Input errors as in AdapterFolder::changed_of().
class MergedFolder final : public TensorSource {
 public:
  MergedFolder(const ModelFiles& base, const AdapterFolder& adapter);

  Names names() const;  // of the base folder's tensors and of those that the adapter adds
  const std::vector<TensorSpec>& added() const { return added_; }
  const Names& changed() const { return changed_; }
  bool is_changed(const std::string& name) const { return changed_.contains(name); }

  const TensorSpec& spec(const std::string& name) const override;
  // False for merged tensors, which are computed as a whole, and for added ones.
  bool reads_boxes(const std::string& name) const override { return !is_changed(name) && !adds(name); }
  // Returns the tensor in its dtype in the base folder.
  at::Tensor read(const std::string& name) const override;
  // Returns the tensor in fp32 (fp64 for fp64), where sums with the adapter are not rounded; integers as they
  // are.
  at::Tensor read_exact(const std::string& name) const;
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override;

 private:
  at::Tensor unrounded(const std::string& name) const;
  const TensorSpec* adds(const std::string& name) const;

  const ModelFiles& base_;
  const AdapterFolder& adapter_;
  const Names changed_;
  const std::vector<TensorSpec> added_;
};

}  // namespace d9d
