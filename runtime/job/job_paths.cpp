#include "runtime/job/job_paths.hpp"

namespace d9d {

std::filesystem::path output_dir(const JobConfig& job) {
  if (job.output_dir) return *job.output_dir;
  return std::filesystem::path("runs") / job.trainer.run.name;
}

std::filesystem::path checkpoint_dir(const JobConfig& job) {
  const auto& given = job.trainer.checkpointing.save_dir;
  return given ? std::filesystem::path(*given) / job.trainer.run.name : output_dir(job) / "checkpoints";
}

bool writes_checkpoints(const JobConfig& job) {
  return job.trainer.checkpointing.period_steps.kind != config::Period::Kind::disable || job.export_to ||
         job.export_adapter_to;
}

std::filesystem::path traces_dir(const JobConfig& job) {
  const auto& profiling = job.trainer.profiling;
  if (profiling && profiling->traces_dir) return *profiling->traces_dir;
  return output_dir(job) / "traces";
}

std::filesystem::path trackers_dir(const JobConfig& job) {
  return output_dir(job) / "trackers";
}

std::filesystem::path log_file(const JobConfig& job, int node) {
  return output_dir(job) / "logs" / ("node-" + std::to_string(node) + ".log");
}

std::filesystem::path results_dir(const JobConfig& job) {
  return output_dir(job) / "results";
}

std::filesystem::path metrics_file(const JobConfig& job) {
  return output_dir(job) / "metrics.jsonl";
}

std::filesystem::path tensorboard_dir(const JobConfig& job, const TensorboardTracker& tracker) {
  return tracker.log_dir ? std::filesystem::path(*tracker.log_dir) : output_dir(job) / "tensorboard";
}

}  // namespace d9d
