#pragma once
// The Hugging Face layout of a model's weights: shards `model-00001-of-0000N.safetensors` with
// `model.safetensors.index.json` (metadata.total_size, weight_map), or one `model.safetensors`. No torch.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

inline constexpr const char* model_index_name = "model.safetensors.index.json";
inline constexpr const char* model_single_name = "model.safetensors";

// Whether one of the two is there.
bool holds_model_state(const Disk& disk, const std::string& directory);

// Tensor -> file, both as the folder has them.
using WeightMap = std::map<std::string, std::string>;

// The index's weight map; nothing when the folder holds a single file. Input errors: neither file is there, and
// what the folder holds instead; the index is not JSON of the expected form, or names a file outside the folder.
std::unique_ptr<WeightMap> read_weight_map(const Disk& disk, const std::string& directory);

// Which files of a folder are the model.
struct ModelChoice {
  std::unique_ptr<WeightMap> weights;  // of the index; null: the single file is the model
  std::set<std::string> files;
  std::vector<std::string> notes;  // a sentence for each thing that a reader of the folder may not expect
};
// An index of which a file is missing does not count beside a single file, as in transformers, and that is noted.
// Input errors, beside those of read_weight_map(): both an index with all its files and a single file that is none
// of them; files of the index that are missing.
ModelChoice choose_model_files(const Disk& disk, const std::string& directory);

// What one writer has written under temporary names.
struct WrittenShard {
  std::string temporary;  // file name in the folder
  std::vector<std::string> tensors;
  std::uint64_t bytes = 0;  // of the tensors
  friend bool operator==(const WrittenShard&, const WrittenShard&) = default;
};
std::string to_json(const std::vector<WrittenShard>& shards);
std::vector<WrittenShard> written_shards_from_json(const std::string& text);

// One of several processes that write a model together. They plan the same files, and each writes whole ones
// of them, so that the folder is the one that a single process writes.
struct ModelShare {
  int index = 0;
  int count = 1;
  // Neighbours go together.
  bool has(std::size_t shard, std::size_t num_shards) const {
    return shard * static_cast<std::size_t>(count) / num_shards == static_cast<std::size_t>(index);
  }
};

// Gives all writers' shards their final numbering, in the given order, and writes the index last: with it (or
// with the single file) the export is complete. An older export in the folder is removed first. An input
// error when two shards hold one tensor. Of several processes in a new folder each names its own shards, and
// the first writes the index: the export is complete when all have returned.
void publish_model_state(Disk& disk, const std::string& directory, const std::vector<WrittenShard>& shards,
                         const ModelShare& share = {});

}  // namespace d9d
