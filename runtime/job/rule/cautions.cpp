// What a job may ask for and will hardly want.
#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/job/rule/job_validation.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/train/lr/phase_texts.hpp"

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

namespace {

std::optional<JobIssue> lost_gradients(const GradientManagerConfig& gradients) {
  if (gradients.grad_dtype != Dtype::bfloat16) return std::nullopt;
  return JobIssue{
      "trainer.gradient_manager.grad_dtype",
      "bfloat16, so what is less than 1/256 of the sum of a step's gradients is lost in it: the sum "
      "of some hundred microbatches stands still",
      "leave it out (float32, two bytes more for each parameter)"};
}

// Of a job whose length is in its file; for the others preparation knows it.
std::optional<JobIssue> cut_schedule(const JobConfig& job) {
  const auto& steps = job.trainer.schedule.total_steps;
  const auto lr = steps ? build_lr(job) : std::nullopt;
  const auto cut = lr ? cut_phase(*lr, *steps) : std::nullopt;
  if (!cut) return std::nullopt;
  return JobIssue{"lr_scheduler", *cut,
                  "right for a trial; else shorten the phase, or raise trainer.schedule.total_steps"};
}

std::string text_of(const config::Period& period) {
  if (period.kind == config::Period::Kind::every) return std::to_string(period.steps);
  return period.kind == config::Period::Kind::last_step ? "last_step" : "disable";
}

// An evaluation counts for the best checkpoint only where a checkpoint is written right after it. After the last step
// both come.
std::optional<JobIssue> unsaved_evaluations(const JobConfig& job) {
  using Kind = config::Period::Kind;
  if (!job.evaluation || job.inference) return std::nullopt;
  const bool chooses = job.export_ == ExportChoice::best || job.evaluation->keep_best;
  const config::Period& evaluations = job.evaluation->period_steps;
  const config::Period& saves = job.trainer.checkpointing.period_steps;
  if (!chooses || evaluations.kind != Kind::every) return std::nullopt;
  if (saves.kind == Kind::every && evaluations.steps % saves.steps == 0) return std::nullopt;
  const auto& total = job.trainer.schedule.total_steps;
  if (total && evaluations.steps >= *total) return std::nullopt;
  return JobIssue{
      "evaluation.period_steps",
      fmt::format(
          "{}, and trainer.checkpointing.period_steps is {}, so no checkpoint is written right after some "
          "of the evaluations: the best of those that are is kept or exported, though another step may "
          "have been better",
          text_of(evaluations), text_of(saves)),
      fmt::format("set trainer.checkpointing.period_steps: {0}, or evaluate at a multiple of its steps",
                  evaluations.steps)};
}

std::optional<JobIssue> untried_overlap(const JobConfig& job) {
  const PipeliningConfig& pipelining = job.trainer.pipelining;
  if (job.node.device != DeviceKind::cuda || pipelining.overlap != Overlap::always ||
      !composes_actions(pipelining.schedule))
    return std::nullopt;
  return JobIssue{"trainer.pipelining.overlap",
                  "always, and no GPU has run two compute streams yet; emulated devices have",
                  "compare the losses of the first steps with those of `never`: they should be the same"};
}

// Routers with a loss of their own learn to spread the tokens and nothing else. Fine-tuning is asked nothing: it may
// freeze them.
std::optional<JobIssue> untrained_routers(const JobConfig& job, const FamilyModel* model) {
  if (job.inference || model == nullptr || !model->fixes_expert_weights()) return std::nullopt;
  if (std::get<FamilyProvider>(job.model_provider).peft) return std::nullopt;
  return JobIssue{
      "model_provider.model.num_experts_per_tok",
      "1, and the probabilities of the chosen experts are divided by their sum, so each is 1 and no "
      "gradient of the tokens' loss reaches the routers",
      "set norm_topk_prob: false where the family has that key, or choose more experts for a token"};
}

}  // namespace

std::vector<JobIssue> cautions(const JobConfig& job, const FamilyModel* model) {
  std::vector<JobIssue> found;
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  const auto optimizer = known_optimizer(job.optimizer);
  const auto updates = family && optimizer ? lost_updates(*optimizer, family->dtype) : std::nullopt;
  if (updates) found.push_back(*updates);
  if (const auto cut = cut_schedule(job)) found.push_back(*cut);
  if (const auto unsaved = unsaved_evaluations(job)) found.push_back(*unsaved);
  if (const auto overlap = untried_overlap(job)) found.push_back(*overlap);
  if (const auto routers = untrained_routers(job, model)) found.push_back(*routers);
  if (const auto gradients = lost_gradients(job.trainer.gradient_manager)) found.push_back(*gradients);
  return found;
}

}  // namespace d9d
