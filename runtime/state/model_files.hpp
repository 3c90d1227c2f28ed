#pragma once
// The weights of a model folder as one set of named tensors, whichever file holds each.
// Const calls from several threads are fine.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/safetensors.hpp"
#include "runtime/state/tensor_source.hpp"

namespace d9d {

class ModelFiles final : public TensorSource {
 public:
  // Opens all files and checks their headers against the index. Input errors name file and tensor.
  ModelFiles(const Disk& disk, const std::string& directory);

  const std::string& directory() const { return directory_; }
  Names names() const;
  const TensorSpec& spec(const std::string& name) const override { return reader_of(name).at(name).spec; }
  bool reads_boxes(const std::string&) const override { return true; }
  // Its name in the folder.
  std::string file_of(const std::string& name) const;
  // Without data: the shape and dtype on the meta device, for mappers.
  at::Tensor shape_only(const std::string& name) const;
  at::Tensor read(const std::string& name) const override { return reader_of(name).read(name); }
  at::Tensor read(const std::string& name, const Slice& slice) const {
    return reader_of(name).read(name, slice);
  }
  void read_into(const std::string& name, const Slice& slice, std::byte* into) const override {
    reader_of(name).read_into(name, slice, into);
  }
  // Groups in the order in which their first tensors lie on the disk. An input error that names the inputs
  // which are not there.
  std::vector<const StateGroup*> in_disk_order(const StateMapper& mapper) const;

 private:
  struct Place {
    std::size_t file;
    std::uint64_t offset;
  };
  void add(const std::string& name, std::size_t file);
  const SafetensorsReader& reader_of(const std::string& name) const;

  std::string directory_;
  std::vector<std::unique_ptr<SafetensorsReader>> files_;
  std::map<std::string, Place> places_;
};

at::Tensor shape_only(const TensorSpec& spec);

}  // namespace d9d
