#pragma once
// The weights of a model folder as one set of named tensors, whichever file has each. A weight of 8
// bits (F8_E4M3, F8_E5M2) appears as a tensor of a usual type: every box that is read is multiplied
// by the scales of its blocks. So do weights of 4 bits (weights/mxfp4.hpp): NAME_blocks [.., G, 16] appears as
// [.., 32 G]. The tensors of scales (NAME_scale_inv, NAME_scale, MODULE.scale, MODULE.scale_weight, NAME_scales)
// are hidden. Const calls from several threads are fine.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"
#include "runtime/state/weights/float8.hpp"

namespace d9d {

class ModelFiles final : public TensorSource {
 public:
  // Opens all files and checks their headers against the index. `dequantised` is the floating-point
  // type for weights of 8 and 4 bits. Input errors name file and tensor.
  ModelFiles(const Disk& disk, const std::string& directory, Dtype dequantised = Dtype::float32);

  const std::string& directory() const { return directory_; }
  Names names() const;
  // Notes for people, one sentence for each unexpected property of the folder.
  const std::vector<std::string>& notes() const { return notes_; }
  // Whether weights appear in another type than that of the files.
  bool dequantises() const { return !float8_.empty() || !mxfp4_.empty(); }
  const TensorSpec& spec(const std::string& name) const override;
  bool reads_boxes(const std::string&) const override { return true; }
  // The file's name in the folder.
  std::string file_of(const std::string& name) const;
  // A tensor on the meta device with the shape and dtype, for mappers.
  at::Tensor shape_only(const std::string& name) const;
  at::Tensor read(const std::string& name) const override { return read(name, whole(spec(name).shape)); }
  at::Tensor read(const std::string& name, const Slice& slice) const;
  void read_into(const std::string& name, const Slice& slice, std::byte* into) const override;
  // Sorts the mapper's groups by the position of their first tensors on the disk. Input error that
  // names inputs which are not there.
  std::vector<const StateGroup*> in_disk_order(const StateMapper& mapper) const;

 private:
  struct Place {
    std::size_t file;
    std::uint64_t offset;
  };
  // A weight of 8 bits.
  struct Scaled {
    TensorSpec spec;     // as it is read
    std::string scales;  // the tensor of its scales; empty: the values are the weights
    ScaleBlocks blocks;
    Float8Format format = Float8Format::e4m3;
  };
  // A weight of 4 bits.
  struct Packed {
    TensorSpec spec;  // as it is read
    std::string scales;
  };
  void add(const std::string& name, std::size_t file);
  void find_mxfp4(Dtype dequantised);
  at::Tensor unpacked(const Packed& packed, const Slice& slice) const;
  void find_float8(const Disk& disk, Dtype dequantised);
  Scaled scaled(const StoredTensor& stored, const Shape& block) const;
  void dequantise_into(const Scaled& scaled, const Slice& slice, std::byte* into) const;
  const SafetensorsReader& reader_of(const std::string& name) const;

  std::string directory_;
  std::vector<std::unique_ptr<SafetensorsReader>> files_;
  std::map<std::string, Place> places_;
  std::map<std::string, Scaled> float8_;
  std::map<std::string, Packed> mxfp4_;
  std::set<std::string> without_name_;  // scales
  std::vector<std::string> notes_;
};

at::Tensor shape_only(const TensorSpec& spec);

}  // namespace d9d
