#pragma once
// A source whose tensors are in memory.

#include <cstring>

#include "runtime/state/tensor_file/safetensors.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d::test {

class HeldTensors final : public TensorSource {
 public:
  explicit HeldTensors(TensorMap tensors) : tensors_(std::move(tensors)) {
    for (const auto& [name, tensor] : tensors_) specs_[name] = spec_of(name, tensor);
  }
  const TensorSpec& spec(const std::string& name) const override { return specs_.at(name); }
  bool reads_boxes(const std::string& name) const override { return name != whole_only; }
  at::Tensor read(const std::string& name) const override { return tensors_.at(name); }
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override {
    const at::Tensor values = slice_view(tensors_.at(name), box).contiguous();
    std::memcpy(into, values.data_ptr(), values.nbytes());
  }

  std::string whole_only;  // of this one no box can be read

 private:
  const TensorMap tensors_;
  std::map<std::string, TensorSpec> specs_;
};

}  // namespace d9d::test
