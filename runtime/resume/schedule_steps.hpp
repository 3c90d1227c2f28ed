#pragma once
// At which step of its schedule the learning rate of a step is read. The same step, in a job that says how many steps it
// has (trainer.schedule.total_steps): phases are counted in steps then, whatever a step takes. Else the data gives the
// length, and phases are counted in samples: the schedule is that of the job as it began, of steps of `first_batch`
// samples, and a step of another batch size stands where its first sample stood. So a phase neither moves nor repeats
// when a run goes on with another batch size, and the last one ends with the data.

#include "runtime/job/job_length.hpp"

namespace d9d {

class ScheduleSteps {
 public:
  // `at`: where this start goes on. `num_samples`: of an epoch; nothing: the source is endless.
  ScheduleSteps(const JobConfig& job, std::optional<std::uint64_t> num_samples, const JobPosition& at,
                std::uint64_t first_batch);

  std::uint64_t total() const { return total_; }  // steps of the schedule
  std::uint64_t of(std::uint64_t step) const;     // both from 1; `step` is one after `at`

 private:
  const JobPosition at_;
  const std::uint64_t batch_, first_batch_;
  const bool counts_samples_;
  std::uint64_t total_;
};

// The batch size that the job began with: that of the run whose checkpoint says `state` (JSON, may be empty).
std::uint64_t first_batch_of(const std::string& state, const JobConfig& job);
// The batch size of the steps before the checkpoint; nothing where it does not say.
std::optional<std::uint64_t> batch_before(const std::string& state);
// Under this key of the checkpoint's state, for the next start.
inline constexpr const char* first_batch_key = "first_batch_size";

}  // namespace d9d
