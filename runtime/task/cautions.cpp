// What a job may ask for and will hardly want.
#include <fmt/format.h>

#include "runtime/task/job_validation.hpp"

namespace d9d {

std::optional<JobIssue> lost_updates(const OptimizerOptions& optimizer, Dtype parameters) {
  const bool is_half = parameters == Dtype::bfloat16 || parameters == Dtype::float16;
  const bool rounds_to_nearest = !std::holds_alternative<StochasticAdamWOptions>(optimizer);
  if (!is_half || !rounds_to_nearest || keeps_masters(optimizer, parameters)) return std::nullopt;
  return JobIssue{"optimizer.master_weights",
                  fmt::format("false, so each update of the {} parameters is rounded to the nearest of their "
                              "values, and one of less than 1/512 of a parameter is lost",
                              name_of(parameters)),
                  "leave it out, or choose stochastic_adamw, which loses none in the mean"};
}

std::vector<JobIssue> cautions(const JobConfig& job) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  const auto optimizer = known_optimizer(job.optimizer);
  if (!family || !optimizer) return {};
  const auto caution = lost_updates(*optimizer, family->dtype);
  return caution ? std::vector{*caution} : std::vector<JobIssue>();
}

}  // namespace d9d
