#include "runtime/job/job_config.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

std::optional<OptimizerOptions> known_optimizer(const OptimizerConfig& config) {
  return std::visit(
      [](const auto& optimizer) -> std::optional<OptimizerOptions> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(optimizer)>, config::Named>) {
          return std::nullopt;
        } else {
          return optimizer;
        }
      },
      config);
}

std::optional<PiecewiseLr> build_lr(const JobConfig& job) {
  if (!job.lr_scheduler) return constant_lr();
  if (std::holds_alternative<config::Named>(*job.lr_scheduler)) return std::nullopt;
  const auto& steps = job.trainer.schedule.total_steps;
  return build_lr(as_phases(*job.lr_scheduler, steps), steps);
}

std::int64_t microbatches_per_step(const JobConfig& job) {
  const BatchingConfig& batching = job.trainer.batching;
  const std::int64_t samples = job.mesh.data_parallel() * batching.microbatch_size;
  D9D_CHECK(samples > 0 && batching.global_batch_size % samples == 0, "batch sizes were not validated");
  return batching.global_batch_size / samples;
}

}  // namespace d9d
