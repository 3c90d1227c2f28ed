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
  // Patterns with '*' for tensors of the files that no input of the mapper has to name.
  std::vector<std::string> allow_unread;
  // The destinations are those of one pipeline stage: the
  // mapper's other outputs need no destination here.
  bool part_of_model = false;
  // The whole values that stand in the place of a tensor of the files: an adapter's sum. None: the files' own.
  std::function<std::optional<at::Tensor>(const std::string& name)> replaced;
  // Called after each tensor with the number of tensors done and the total.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// Where to copy a block of a produced tensor. `tensor` has the slice's shape; it keeps its dtype and device.
struct Destination {
  at::Tensor tensor;
  Shape global_shape;
  Slice slice;
};

struct LoadReport {
  std::size_t num_tensors = 0;
  std::uint64_t bytes_read = 0;
  // Tensors of the files that hold NaN or infinite values in what was read of them.
  Names not_finite;
};
// "FILE: "X" holds values that are not numbers ...", of the first of them; empty where there is none.
std::string not_finite_text(const Disk& disk, const std::string& directory, const Names& not_finite);

// Fills every destination, reading only the slices it needs; memory beyond the destinations:
// one input slice, or one group where a mapper computes values. An input error, with
// names, unless every destination is produced, every output has a destination (see
// part_of_model), every needed input is in the files, every tensor of the files is an
// input of the mapper (see allow_unread), every produced shape is the destination's, and
// integers or booleans go into no destination of floating-point values.
LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, Destination>& destinations,
                            const LoadOptions& options = {});
// Whole tensors.
LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, at::Tensor>& destinations,
                            const LoadOptions& options = {});

// Checks whether load_model_state() of a whole model will find all it needs: the same errors, from the
// headers of the files alone. `parameters`: those of the model, of floating-point values, whole shapes.
void check_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                       const std::map<std::string, Shape>& parameters, const LoadOptions& options = {});

// Streams every output of the mapper, group by group in the order of the files; memory: the tensors of one
// group. The same strictness. The visitor owns what it gets.
void read_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                      const std::function<void(const std::string& name, at::Tensor tensor)>& visit,
                      const LoadOptions& options = {});

}  // namespace d9d
