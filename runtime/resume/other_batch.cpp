#include "runtime/resume/other_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/resume/schedule_steps.hpp"

namespace d9d {

std::string told_other_batch(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                             const JobPosition& at, const std::string& state) {
  const auto now = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  const auto before = batch_before(state);
  if (!before || *before == now) return {};
  const std::uint64_t last = last_step_of(job, num_samples, at);
  const std::uint64_t over = samples_left_out(job, num_samples, last, at);
  std::string text = fmt::format(
      "a step takes {}, and took {} before: step {} begins with sample {}, {} {} left",
      counted(now, "sample"), *before, at.steps + 1, at.sample,
      counted(last - std::min(last, at.steps), "step"), last - std::min(last, at.steps) == 1 ? "is" : "are");
  if (over > 0) text += fmt::format(" (the last {} make no whole step)", counted(over, "sample"));
  if (!job.lr_scheduler || job.inference) return text;
  return text +
         (job.trainer.schedule.total_steps
              ? ". The phases of the learning rate stay at their steps, as total_steps counts them"
              : fmt::format(". The phases of the learning rate stay at their samples: they are counted "
                            "in steps of {}, as the run began",
                            first_batch_of(state, job)));
}

}  // namespace d9d
