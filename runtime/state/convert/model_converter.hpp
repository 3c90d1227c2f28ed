#pragma once
// Converts the tensors of a source with a mapper into the shards of a Hugging Face folder. It moves
// boxes, so that memory does not grow with the tensors, and uses several threads, so that reading
// and writing overlap. Blocks on the disk.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/publish_model.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

// Calls `work` in `threads` threads, including this one, and waits for all. If one throws, `cancel`
// is called, which should make the others return; then the first exception is rethrown here.
void in_threads(int threads, const std::function<void()>& work, const std::function<void()>& cancel);

class ModelFiles;
class TensorSource;

struct ConversionOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<Dtype> dtype;           // for floating-point outputs
  std::map<std::string, Dtype> dtypes;  // for single outputs of any type
  std::uint64_t box_bytes = 4 << 20;    // moved at once; a thread holds twice as much
  int threads = 1;
  ModelShare share{};  // of several processes that write the model together
  // Called after each box, by one thread at a time, with bytes done and all bytes of this share's outputs.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

// Writes every output of the mapper into `directory` under temporary names; publish_model_state() makes them
// a model. `groups` are the mapper's, in the order of their outputs in the files; the files do not depend on
// threads and shares. A group whose mapper computes values, or whose inputs cannot be read in boxes, is in
// memory as a whole, one in each thread. Everything is checked before the first byte of data is read: input
// errors when the source lacks an input, a mapper refuses a shape, an output is larger than a shard. Returns
// all shards, with those of other shares.
std::vector<WrittenShard> convert_model_state(const TensorSource& source, const StateMapper& mapper,
                                              const std::vector<const StateGroup*>& groups, Disk& disk,
                                              const std::string& directory, const ConversionOptions& options);
// The same with groups in the order of the files.
std::vector<WrittenShard> convert_model_state(const ModelFiles& files, const MapperPtr& mapper, Disk& disk,
                                              const std::string& directory, const ConversionOptions& options);

// Sorts the mapper's groups by the first of `inputs` that they use. Input error with names: the
// mapper lacks one of the inputs or needs more.
std::vector<const StateGroup*> groups_in_order(const StateMapper& mapper,
                                               const std::vector<std::string>& inputs);

}  // namespace d9d
