#pragma once
// How long a job is, from `trainer.schedule.total_steps`, `data.epochs` and the number of samples of an epoch.

#include <cstdint>
#include <optional>

#include "runtime/job/job_config.hpp"

namespace d9d {

// The global sample at which the data ends, after the last epoch; nothing: it never does. `num_samples` is that of an
// epoch; nothing: the source is endless.
std::optional<std::uint64_t> end_of_data(const DataConfig& data, std::optional<std::uint64_t> num_samples);

// Where a job stands in its data: steps done, and the global sample that the next one begins with. Steps of another
// batch size took other numbers of samples, so neither follows from the other.
struct JobPosition {
  std::uint64_t steps = 0, sample = 0;
};

// The steps of `batch` samples that so many samples give; with `keeps_last` the last one may have fewer.
std::uint64_t steps_of(std::uint64_t samples, std::uint64_t batch, bool keeps_last);

// The number of the job's last step, for a job that goes on from `at`: total_steps, or as many whole steps as the rest
// of the data gives; with drop_last: false also its last samples. Data that gives no whole step, fewer steps than
// total_steps, or without total_steps no end is an input error with these counts and the way out.
std::uint64_t job_steps(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                        const JobPosition& at = {});

// Of a job that trains on its data to the end: the samples that make no whole step, which come too late for `steps`.
std::uint64_t samples_left_out(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                               std::uint64_t steps, const JobPosition& at = {});

// Of an inference job: total_steps, or as many as take all of the data in; the last one may be filled up.
// Input errors as of job_steps().
std::uint64_t inference_steps(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                              const JobPosition& at = {});
// One of the two.
std::uint64_t last_step_of(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                           const JobPosition& at = {});
// Global batches of each evaluation: evaluation.batches, or as many as take all of its data in; the last one may have
// fewer samples. The job has the section. Input error as of job_steps().
std::uint64_t evaluation_batches(const JobConfig& job, std::optional<std::uint64_t> num_samples);

}  // namespace d9d
