#pragma once
// The checkpoints that are being written: which parts of each have come, and whether it is complete. The
// Coordinator's bookkeeping; it knows neither messages nor the disk.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

// Everything of one checkpoint, ready to be committed.
struct CheckpointParts {
  std::uint64_t step = 0;
  std::uint64_t next_sample = 0;
  std::vector<std::string> reports;        // JSON per rank: the shard it wrote
  std::map<int, std::string> rank_states;  // JSON per rank
};

class PendingSaves {
 public:
  struct Save {
    CheckpointParts parts;
    int shards = 0;
    bool tracker = false;
    std::string failure;  // why a shard was not written; empty = none failed
  };

  explicit PendingSaves(int world_size) : world_size_(world_size) {}

  // Notes one rank's shard. `failure` empty: it was written, and `report` (JSON) describes it.
  void shard(std::uint64_t step, const std::string& report, const std::string& failure);
  // Notes one rank's state. True when it is the first one for this step.
  bool rank_state(std::uint64_t step, int rank, std::uint64_t next_sample, const std::string& state);
  void tracker(std::uint64_t step);

  // True when all ranks' shards and states are here and the tracker's files hold all numbers up to the step.
  bool complete(std::uint64_t step) const;
  Save take(std::uint64_t step);
  // The newest one that is not complete.
  std::optional<std::uint64_t> newest() const;
  // True when all ranks' states are here: each has copied what it saves, and only disks are waited for.
  bool has_all_states(std::uint64_t step) const;

 private:
  Save& of(std::uint64_t step);

  int world_size_;
  std::map<std::uint64_t, Save> saves_;
};

}  // namespace d9d
