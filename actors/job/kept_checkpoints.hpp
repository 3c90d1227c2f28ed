#pragma once
// The checkpoints of a run while it writes more: which are not to be counted on, which is the best, which stay.

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
  // Both outlive it.
  KeptCheckpoints(Disk& disk, const JobConfig& job);

  // At the start: those that were found damaged. Looks through the others where the job evaluates, and says which of
  // them is the best.
  void found(std::set<std::uint64_t> damaged);
  // Says when the best one is another, and sets its link; removes what need not stay. A disk that does not let go of
  // the old ones has the new one all the same. `extra`: of its manifest.
  void committed(std::uint64_t step, const std::string& extra);

  // The disk is full, and a checkpoint was given up: the oldest one goes that `num_to_keep` would let go later anyway, but
  // never the newest good one, nor the best where it is kept. Never throws.
  void make_room();

  // What the key `export` says. Environment error where none of those that are there was evaluated.
  std::string to_export(const std::string& last) const;

 private:
  void rotate();
  std::vector<std::string> keep_newest(std::size_t count);  // the names of those that are gone
  void know_best(bool says_each);

  Disk& disk_;
  const JobConfig& job_;
  const std::string directory_;
  std::set<std::uint64_t> damaged_;
  EvaluationValues values_;
  std::optional<std::uint64_t> best_;
};

}  // namespace d9d
