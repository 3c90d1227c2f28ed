#pragma once
// The end of a model's export: the written shards get their final names, and the index comes last (model_index.hpp
// says the layout). No torch.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// A shard that one writer has written under a temporary name.
struct WrittenShard {
  std::string temporary;  // file name in the folder
  std::vector<std::string> tensors;
  std::uint64_t bytes = 0;  // of the tensors
  friend bool operator==(const WrittenShard&, const WrittenShard&) = default;
};
std::string to_json(const std::vector<WrittenShard>& shards);
std::vector<WrittenShard> written_shards_from_json(const std::string& text);

// The share of one process in writing a model. All processes plan the same files and each writes
// whole files, so the folder equals that of a single process.
struct ModelShare {
  int index = 0;
  int count = 1;
  // Each process has consecutive shards.
  bool has(std::size_t shard, std::size_t num_shards) const {
    return shard * static_cast<std::size_t>(count) / num_shards == static_cast<std::size_t>(index);
  }
};

// Gives the shards of all writers their final numbers, in the given order, and writes the index
// last: with it (or with the single file) the export is complete. An older export in the folder
// is removed first. Input error: two shards hold one tensor. If several processes fill a new
// folder, each names its own shards and the first writes the index; the export is complete when
// all calls have returned.
void publish_model_state(Disk& disk, const std::string& directory, const std::vector<WrittenShard>& shards,
                         const ModelShare& share = {});

}  // namespace d9d
