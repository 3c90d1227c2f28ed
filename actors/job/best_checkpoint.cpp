#include "actors/job/best_checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/state/checkpoint_commit.hpp"

namespace d9d {
namespace {

std::optional<double> loss_of(const Disk& disk, const FoundCheckpoint& found) {
  try {
    return evaluation_loss(read_manifest(disk, found.path).extra);
  } catch (const Error&) {
    return std::nullopt;  // whoever resumes or lists says what is wrong with it
  }
}

}  // namespace

// All ranks know the same loss; rank 0 is always there.
std::optional<double> evaluation_loss(const std::string& extra) {
  const auto json = nlohmann::json::parse(extra, nullptr, false);
  const nlohmann::json::json_pointer where("/ranks/0/evaluation_loss");
  if (json.is_discarded() || !json.contains(where) || !json.at(where).is_number()) return std::nullopt;
  return json.at(where).get<double>();
}

std::optional<std::uint64_t> best_checkpoint(const Disk& disk, const std::string& directory,
                                             const std::set<std::uint64_t>& damaged_steps) {
  std::optional<std::uint64_t> best;
  double lowest = 0;
  for (const FoundCheckpoint& found : find_checkpoints(disk, directory)) {  // newest first
    if (damaged_steps.contains(found.step)) continue;
    const auto loss = loss_of(disk, found);
    if (!loss || (best && *loss > lowest)) continue;
    best = found.step;
    lowest = *loss;
  }
  return best;
}

}  // namespace d9d
