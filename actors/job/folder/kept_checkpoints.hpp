#pragma once
// The checkpoints of a run while it writes more: decides which of them stay, and knows the best one.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/state/checkpoint/best_checkpoint.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

class KeptCheckpoints {
 public:
  // `disk` and `job` outlive this object.
  KeptCheckpoints(Disk& disk, const JobConfig& job);

  // Call it at the start, with the steps of damaged checkpoints. In a job that evaluates it reads the
  // others and logs which of them is the best.
  void found(std::set<std::uint64_t> damaged);
  // Call it after each commit. Removes checkpoints beyond num_to_keep; if the disk refuses, it warns and
  // the new checkpoint stays. Logs a new best checkpoint and sets the link to it. `extra`: from the
  // manifest of the new checkpoint.
  void committed(std::uint64_t step, const std::string& extra);

  // Call it when the disk is full and a checkpoint was given up. Removes the oldest checkpoint that
  // `num_to_keep` would remove later anyway, but neither the newest good one nor a best one that is kept.
  // Never throws.
  void make_room();

  // Returns the checkpoint to export: `last`, or the best one if the key `export` asks for it. Environment
  // error if the best one is asked for and no checkpoint was evaluated.
  std::string to_export(const std::string& last) const;

 private:
  void rotate();
  std::vector<std::string> keep_newest(std::size_t count);  // returns the names of the removed ones
  void know_best(bool says_each);

  Disk& disk_;
  const JobConfig& job_;
  const std::string directory_;
  std::set<std::uint64_t> damaged_;
  EvaluationValues values_;
  std::optional<std::uint64_t> best_;
};

}  // namespace d9d
