#pragma once
// The Hugging Face layout of a model's weights: shards `model-00001-of-0000N.safetensors` with
// `model.safetensors.index.json` (metadata.total_size, weight_map), or one `model.safetensors`. No torch.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

inline constexpr const char* model_index_name = "model.safetensors.index.json";
inline constexpr const char* model_single_name = "model.safetensors";

// Whether the directory has one of the two layouts.
bool holds_model_state(const Disk& disk, const std::string& directory);

// Name of a tensor -> name of its file.
using WeightMap = std::map<std::string, std::string>;

// Reads the index's weight map; null if the folder holds a single file. Input errors: neither file
// is there (the error says what the folder holds instead); the index is not JSON of the expected
// form, or names a file outside the folder.
std::unique_ptr<WeightMap> read_weight_map(const Disk& disk, const std::string& directory);

// The files of a folder that make up the model.
struct ModelChoice {
  std::unique_ptr<WeightMap> weights;  // from the index; null: the single file is the model
  std::set<std::string> files;
  std::vector<std::string> notes;  // a sentence for each unexpected property of the folder
};
// Chooses the files of the model. An index with a missing file is ignored if there is a single
// file too, as in transformers, and noted. Input errors besides those of read_weight_map(): the
// folder has an index with all its files and also a single file that the index does not name;
// files of the index are missing.
ModelChoice choose_model_files(const Disk& disk, const std::string& directory);

}  // namespace d9d
