#include "actors/job/folder/kept_checkpoints.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/shell_word.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"

namespace d9d {

KeptCheckpoints::KeptCheckpoints(Disk& disk, const JobConfig& job)
    : disk_(disk), job_(job), directory_(checkpoint_dir(job).string()) {}

void KeptCheckpoints::found(std::set<std::uint64_t> damaged) {
  damaged_ = std::move(damaged);
  if (!job_.evaluation) return;
  values_ = evaluation_values(disk_, directory_, damaged_);
  know_best(false);
}

void KeptCheckpoints::committed(std::uint64_t step, const std::string& extra) {
  damaged_.erase(step);
  values_.erase(step);
  if (const auto value = evaluation_value(extra)) values_[step] = *value;
  rotate();
  if (job_.evaluation) know_best(true);
}

void KeptCheckpoints::know_best(bool says_each) {
  const auto best = best_of(values_);
  if (best == best_) return;
  if (best && says_each && best_ && values_.contains(*best_)) {
    log::info("{} is the best checkpoint now: evaluation {} {:.6g}; the best before it, {}, has {:.6g}",
              checkpoint_name(*best), values_.at(*best).name, values_.at(*best).value,
              checkpoint_name(*best_), values_.at(*best_).value);
  } else if (best) {
    log::info("{} is the best checkpoint {}: evaluation {} {:.6g}", checkpoint_name(*best),
              says_each && best_ ? "of those that are left" : "so far", values_.at(*best).name,
              values_.at(*best).value);
  }
  best_ = best;
  if (!set_best_link(directory_, best))
    log::debug("{} has no link to the best checkpoint: its file system has none", directory_);
}

void KeptCheckpoints::rotate() {
  const auto keep = job_.trainer.checkpointing.num_to_keep;
  if (!keep) return;
  try {
    keep_newest(static_cast<std::size_t>(*keep));
  } catch (const Error& error) {
    log::warn("older checkpoints were not removed: {}", error.what());
  }
}

std::vector<std::string> KeptCheckpoints::keep_newest(std::size_t count) {
  const bool keeps_best = job_.evaluation && job_.evaluation->keep_best;
  auto removed =
      rotate_checkpoints(disk_, directory_, count, damaged_, keeps_best ? best_of(values_) : std::nullopt);
  std::erase_if(values_, [&](const auto& one) {
    return std::find(removed.begin(), removed.end(), checkpoint_name(one.first)) != removed.end();
  });
  return removed;
}

void KeptCheckpoints::make_room() {
  try {
    // Count down, because keep_newest() removes nothing while the oldest checkpoints are damaged or the
    // best one.
    for (std::size_t count = find_checkpoints(disk_, directory_).size(); count-- > 1;) {
      const auto removed = keep_newest(count);
      if (removed.empty()) continue;
      log::warn("the disk is full: {} is removed to make room for the next checkpoint (num_to_keep: {})",
                fmt::join(removed, ", "), *job_.trainer.checkpointing.num_to_keep);
      return know_best(false);
    }
  } catch (const Error& error) {
    log::warn("the disk is full, and no older checkpoint could be removed: {}", error.what());
  }
}

std::string KeptCheckpoints::to_export(const std::string& last) const {
  if (job_.export_ == ExportChoice::last) return last;
  const auto best = best_of(values_);
  if (!best)
    throw Error(ErrorKind::environment,
                fmt::format("export: best, but no checkpoint in {} was written right after an evaluation. "
                            "d9d-node export {} FOLDER exports the last one",
                            directory_, shell_word(last)));
  return join_path(directory_, checkpoint_name(*best));
}

}  // namespace d9d
