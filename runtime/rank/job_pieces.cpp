#include "runtime/rank/job_pieces.hpp"

namespace d9d {
namespace {

std::function<bool(std::uint64_t)> due_after(config::Period period, std::uint64_t total_steps) {
  return [=](std::uint64_t step) {
    return config::is_due(period, static_cast<std::int64_t>(step), static_cast<std::int64_t>(total_steps),
                          true);
  };
}

}  // namespace

std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps) {
  auto periodic = due_after(job.trainer.checkpointing.period_steps, total_steps);
  if (!job.export_to && !job.export_adapter_to) return periodic;
  return [periodic, total_steps](std::uint64_t step) { return step == total_steps || periodic(step); };
}

std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps) {
  return due_after(job.trainer.logging.period_steps, total_steps);
}

}  // namespace d9d
