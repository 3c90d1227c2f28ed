#include "runtime/task/job_config.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

std::int64_t stages_per_rank(const PipelineScheduleConfig& schedule) {
  struct Count {
    std::int64_t operator()(const GpipeConfig&) const { return 1; }
    std::int64_t operator()(const LoopedBfsConfig& config) const { return config.num_stages_per_rank; }
    std::int64_t operator()(const OneFOneBConfig& config) const { return config.num_stages_per_rank; }
    std::int64_t operator()(const ZeroBubbleVConfig&) const { return 2; }
    std::int64_t operator()(const DualPipeVConfig&) const { return 2; }
    std::int64_t operator()(const AutoScheduleConfig& config) const { return config.num_stages_per_rank; }
    std::int64_t operator()(const InferenceConfig&) const { return 1; }
  };
  return std::visit(Count{}, schedule);
}

std::optional<PiecewiseLr> build_lr(const JobConfig& job) {
  if (!job.lr_scheduler) return constant_lr();
  const auto* piecewise = std::get_if<PiecewiseLrProvider>(&*job.lr_scheduler);
  if (!piecewise) return std::nullopt;
  return build_lr(piecewise->scheduler, job.trainer.schedule.total_steps);
}

std::int64_t microbatches_per_step(const JobConfig& job) {
  const BatchingConfig& batching = job.trainer.batching;
  const std::int64_t samples = job.mesh.data_parallel() * batching.microbatch_size;
  D9D_CHECK(samples > 0 && batching.global_batch_size % samples == 0, "batch sizes were not validated");
  return batching.global_batch_size / samples;
}

}  // namespace d9d
