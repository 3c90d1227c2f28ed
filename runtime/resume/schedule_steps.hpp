#pragma once
// Maps a step of the job to the step of the schedule at which its learning rate is read. With a given number
// of steps (trainer.schedule.total_steps) both are the same: phases are counted in steps, whatever the batch
// size. Otherwise the data gives the length, and phases are counted in samples: the schedule has steps of
// `first_batch` samples, with which the job began, and a step of another batch size is mapped to the step
// that contained its first sample. So no phase moves or repeats when a run continues with another batch
// size, and the last phase ends with the data.

#include "runtime/job/job_length.hpp"

namespace d9d {

class ScheduleSteps {
 public:
  // `at`: the position from which this start continues. `num_samples`: of an epoch;
  // nothing: the source is endless.
  ScheduleSteps(const JobConfig& job, std::optional<std::uint64_t> num_samples, const JobPosition& at,
                std::uint64_t first_batch);

  std::uint64_t total() const { return total_; }  // steps of the schedule
  std::uint64_t of(std::uint64_t step) const;     // both count from 1; `step` comes after `at`

 private:
  const JobPosition at_;
  const std::uint64_t batch_, first_batch_;
  const bool counts_samples_;
  std::uint64_t total_;
};

// Returns the batch size with which the job began. `state`: of the checkpoint,
// JSON; empty: the job begins now.
std::uint64_t first_batch_of(const std::string& state, const JobConfig& job);
// Returns the batch size of the steps before the checkpoint; nothing when `state` does not have it.
std::optional<std::uint64_t> batch_before(const std::string& state);
// The key of first_batch_of() in the checkpoint's state, for the next start.
inline constexpr const char* first_batch_key = "first_batch_size";

}  // namespace d9d
