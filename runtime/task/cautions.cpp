// What a job may ask for and will hardly want.
#include <fmt/format.h>

#include "runtime/task/job_validation.hpp"

namespace d9d {

std::vector<JobIssue> cautions(const JobConfig& job) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  const auto optimizer = known_optimizer(job.optimizer);
  if (!family || !optimizer || family->dtype == Dtype::float32) return {};
  const bool rounds_to_nearest = !std::holds_alternative<StochasticAdamWOptions>(*optimizer);
  if (!rounds_to_nearest || keeps_masters(*optimizer, family->dtype)) return {};
  return {{"optimizer.master_weights",
           fmt::format(
               "false, so each update of the {} parameters is rounded to the nearest of their values, and "
               "one of less than 1/512 of a parameter is lost",
               name_of(family->dtype)),
           "leave it out, or choose stochastic_adamw, which loses none in the mean"}};
}

}  // namespace d9d
