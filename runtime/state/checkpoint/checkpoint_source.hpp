#pragma once
// The tensors of one kind of a committed checkpoint. Blocks on the disk.

#include <map>
#include <string>

#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"

namespace d9d {

class CheckpointSource final : public TensorSource {
 public:
  // The checkpoint outlives the source.
  CheckpointSource(const CheckpointReader& checkpoint, std::string kind);

  bool has(const std::string& name) const { return specs_.contains(name); }
  const TensorSpec& spec(const std::string& name) const override;
  bool reads_boxes(const std::string&) const override { return true; }
  at::Tensor read(const std::string& name) const override { return checkpoint_.read(kind_, name); }
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override;

 private:
  const CheckpointReader& checkpoint_;
  const std::string kind_;
  std::map<std::string, TensorSpec> specs_;
};

// Joins the buffers of a checkpoint with the parameters of another source.
class WithBuffers final : public TensorSource {
 public:
  // Both outlive this.
  WithBuffers(const TensorSource& parameters, const CheckpointReader& checkpoint);

  const TensorSpec& spec(const std::string& name) const override { return source_of(name).spec(name); }
  bool reads_boxes(const std::string& name) const override { return source_of(name).reads_boxes(name); }
  at::Tensor read(const std::string& name) const override { return source_of(name).read(name); }
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override {
    source_of(name).read_into(name, box, into);
  }

 private:
  const TensorSource& source_of(const std::string& name) const;

  const TensorSource& parameters_;
  const CheckpointSource buffers_;
};

}  // namespace d9d
