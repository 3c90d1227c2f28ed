#pragma once
// Loads a Hugging Face model folder through a mapper. Everything is checked before the first byte of data is
// read. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

struct LoadOptions {
  // Patterns with '*' for tensors of the files that the mapper may leave unread.
  std::vector<std::string> allow_unread;
  // The destinations are those of one pipeline stage: other outputs of the
  // mapper need no destination.
  bool part_of_model = false;
  // Returns whole values that replace a tensor of the files, such as an adapter's sum. Nothing: the
  // file's values are used.
  std::function<std::optional<at::Tensor>(const std::string& name)> replaced;
  // Called after each tensor with the number of tensors done and the total.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// Where to copy a block of a produced tensor. `tensor` has the slice's shape and keeps
// its dtype and device.
struct Destination {
  at::Tensor tensor;
  Shape global_shape;
  Slice slice;
};

struct LoadReport {
  std::size_t num_tensors = 0;
  std::uint64_t bytes_read = 0;
  // Tensors of the files in which NaN or infinite values were read.
  Names not_finite;
};
// Says "FILE: "X" holds values that are not numbers ..." for the first of them; empty
// if there is none.
std::string not_finite_text(const Disk& disk, const std::string& directory, const Names& not_finite);

// Fills every destination and reads only the slices that it needs. Memory beyond the
// destinations: one input slice, or one group where a mapper computes values. Input error, with
// names, unless: every destination is produced; every output has a destination (see
// part_of_model); every needed input is in the files; every tensor of the files is an input of
// the mapper (see allow_unread); every produced shape is the destination's; and integers or
// booleans go into no destination of floating-point values.
LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, Destination>& destinations,
                            const LoadOptions& options = {});
// The same for whole tensors.
LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, at::Tensor>& destinations,
                            const LoadOptions& options = {});

// Checks that load_model_state() of a whole model would succeed, with the same errors, from
// the headers of the files alone. `parameters` are those of the model, of floating-point
// values, in whole shapes.
void check_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                       const std::map<std::string, Shape>& parameters, const LoadOptions& options = {});

// Streams every output of the mapper, group by group in the order of the files, with the same
// checks. Memory: the tensors of one group. The visitor owns the tensors that it is given.
void read_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                      const std::function<void(const std::string& name, at::Tensor tensor)>& visit,
                      const LoadOptions& options = {});

}  // namespace d9d
