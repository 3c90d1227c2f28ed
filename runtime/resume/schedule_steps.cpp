#include "runtime/resume/schedule_steps.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

std::uint64_t batch_of(const JobConfig& job) {
  return static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
}

std::optional<std::uint64_t> number_at(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer where(pointer);
  if (!json.is_object() || !json.contains(where) || !json.at(where).is_number_unsigned()) return std::nullopt;
  const auto number = json.at(where).get<std::uint64_t>();
  return number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

ScheduleSteps::ScheduleSteps(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                             const JobPosition& at, std::uint64_t first_batch)
    : at_(at),
      batch_(batch_of(job)),
      first_batch_(first_batch),
      counts_samples_(!job.trainer.schedule.total_steps && !job.inference && at.steps > 0) {
  total_ = last_step_of(job, num_samples, at);
  if (!counts_samples_) return;
  const auto end = end_of_data(job.data, num_samples);  // exists: a job without total_steps has finite data
  total_ = std::max<std::uint64_t>(1, steps_of(*end, first_batch_, !job.trainer.batching.drop_last));
}

std::uint64_t ScheduleSteps::of(std::uint64_t step) const {
  if (!counts_samples_ || step <= at_.steps) return step;
  const std::uint64_t first_sample = at_.sample + (step - at_.steps - 1) * batch_;
  return first_sample / first_batch_ + 1;
}

std::optional<std::uint64_t> batch_before(const std::string& state) {
  const auto json = try_parse_json<nlohmann::json>(state);
  if (const auto trained = number_at(json, "/job/trainer/batching/global_batch_size")) return trained;
  return number_at(json, "/job/inference/batching/global_batch_size");
}

std::uint64_t first_batch_of(const std::string& state, const JobConfig& job) {
  const auto json = try_parse_json<nlohmann::json>(state);
  if (const auto first = number_at(json, "/first_batch_size")) return *first;
  return batch_before(state).value_or(batch_of(job));
}

}  // namespace d9d
