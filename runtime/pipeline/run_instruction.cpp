#include "runtime/pipeline/run_instruction.hpp"

#include <algorithm>

#include "runtime/base/log.hpp"
#include "runtime/base/log_place.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"

namespace d9d {
namespace {

// Parts of the same stage must not overlap: both would be in the middle of the same module.
bool may_overlap(const std::vector<Action>& parts) {
  return parts.size() > 1 && std::none_of(parts.begin() + 1, parts.end(), [&](const Action& action) {
           return action.stage == parts.front().stage;
         });
}

}  // namespace

std::vector<ActionResult> run_instruction(const Instruction& instruction, ComputeLanes* lanes,
                                          const std::function<ActionResult(const Action&)>& run) {
  const std::vector<Action>& parts = instruction.parts;
  std::vector<ActionResult> results(parts.size());
  const auto run_parts = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) results[i] = run(parts[i]);
  };
  if (lanes != nullptr && may_overlap(parts)) {
    const auto second = [&, place = log::place()] {
      const log::Place here(place.empty() ? "lane 1" : place + ", lane 1");
      run_parts(1, parts.size());
    };
    lanes->run([&] { run_parts(0, 1); }, second);
  } else {
    run_parts(0, parts.size());
  }
  return results;
}

}  // namespace d9d
