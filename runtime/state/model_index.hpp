#pragma once
// The Hugging Face layout of a model's weights: shards `model-00001-of-0000N.safetensors` with
// `model.safetensors.index.json` (metadata.total_size, weight_map), or one `model.safetensors`. No torch.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/state/disk.hpp"

namespace d9d {

inline constexpr const char* model_index_name = "model.safetensors.index.json";
inline constexpr const char* model_single_name = "model.safetensors";

// Whether one of the two is there.
bool holds_model_state(const Disk& disk, const std::string& directory);

// Tensor -> file, both as the folder has them.
using WeightMap = std::map<std::string, std::string>;

// The index's weight map; nothing when the folder holds a single file. Input errors: neither file is there;
// the index is not JSON of the expected form, or names a file outside the folder.
std::unique_ptr<WeightMap> read_weight_map(const Disk& disk, const std::string& directory);

// What one writer has written under temporary names.
struct WrittenShard {
  std::string temporary;  // file name in the folder
  std::vector<std::string> tensors;
  std::uint64_t bytes = 0;  // of the tensors
  friend bool operator==(const WrittenShard&, const WrittenShard&) = default;
};
std::string to_json(const std::vector<WrittenShard>& shards);
std::vector<WrittenShard> written_shards_from_json(const std::string& text);

// Gives all writers' shards their final numbering, in the given order, and writes the index last: with it (or
// with the single file) the export is complete. An older export in the folder is removed first. An input
// error when two shards hold one tensor.
void publish_model_state(Disk& disk, const std::string& directory, const std::vector<WrittenShard>& shards);

}  // namespace d9d
