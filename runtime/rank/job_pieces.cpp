#include "runtime/rank/job_pieces.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::function<bool(std::uint64_t)> due_after(config::Period period, std::uint64_t total_steps) {
  return [=](std::uint64_t step) {
    return config::is_due(period, static_cast<std::int64_t>(step), static_cast<std::int64_t>(total_steps),
                          true);
  };
}

}  // namespace

std::function<double(std::uint64_t)> step_multiplier(JobConfig job, std::uint64_t total_steps) {
  job.trainer.schedule.total_steps = static_cast<std::int64_t>(total_steps);
  auto lr = build_lr(job);
  if (!lr) {
    throw Error(ErrorKind::input,
                "lr_scheduler: schedules of plugins are not supported yet; use `piecewise`");
  }
  return [lr = std::move(*lr)](std::uint64_t step) {
    return lr.multiplier(static_cast<std::int64_t>(step) - 1);
  };
}

OptimizerOptions optimizer_of(const JobConfig& job) {
  const auto known = known_optimizer(job.optimizer);
  D9D_REQUIRE(known,
              "optimizer: no optimizer is called \"{}\"; there are adamw, adam, sgd and stochastic_adamw",
              std::get<config::Named>(job.optimizer).name);
  return *known;
}

double base_learning_rate(const OptimizerOptions& optimizer) {
  return std::visit([](const auto& chosen) { return chosen.lr; }, optimizer);
}

std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps) {
  auto periodic = due_after(job.trainer.checkpointing.period_steps, total_steps);
  if (!job.export_to) return periodic;
  return [periodic, total_steps](std::uint64_t step) { return step == total_steps || periodic(step); };
}

std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps) {
  return due_after(job.trainer.logging.period_steps, total_steps);
}

}  // namespace d9d
