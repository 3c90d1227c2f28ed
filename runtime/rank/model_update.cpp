// Gradient hooks, the optimizer, and what ends a step.
#include <fmt/format.h>

#include "runtime/device/work_name.hpp"
#include "runtime/rank/measured/watched_tensors.hpp"
#include "runtime/rank/model_parts.hpp"
#include "runtime/rank/rank_hooks.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

class ModelUpdate final : public RankUpdate {
 public:
  ModelUpdate(const ModelParts& parts, const ModelOptions& model, const TaskOptions& task,
              const MetricOptions& metrics)
      : parts_(parts), options_(model), task_(task), metrics_(metrics) {}

  HookedGradients hook_gradients(std::uint64_t step, int update, double loss, double weight) override;
  void watch_tensors(double gradient_scale) override;
  void apply(double gradient_scale, double lr_multiplier, int update) override;
  // Still ends the step: the forward has changed buffers, which have to become equal on all ranks.
  void skip() override {
    parts_.model.wait_for_reductions();
    parts_.model.flat()->zero_grad();
    end_step(/*update=*/false);
  }

 private:
  void end_step(bool update) {
    for (const auto& [stage, built] : parts_.model.stages()) built.units.after_update();
    parts_.model.experts().end_step(update);
    parts_.model.buffers().make_equal();
  }

  const ModelParts parts_;
  const ModelOptions& options_;
  const TaskOptions& task_;
  const MetricOptions& metrics_;
};

HookedGradients ModelUpdate::hook_gradients(std::uint64_t step, int update, double loss, double weight) {
  const WorkLog::Scope log(parts_.log);
  parts_.model.wait_for_reductions();
  WorkTimer timer(parts_.log, *parts_.services.device, {.name = "gradient hooks"});
  const HookedGradients hooked = call_hooks(task_.hooks, *parts_.model.flat(), weight, options_.norm,
                                            {.step = step,
                                             .update = update,
                                             .seed = options_.seed,
                                             .loss = loss,
                                             .gradients = {},
                                             .metrics = &parts_.metrics.here()});
  timer.end();
  return hooked;
}

void ModelUpdate::watch_tensors(double gradient_scale) {
  if (metrics_.watched.empty() || task_.inference) return;
  parts_.model.wait_for_reductions();
  d9d::watch_tensors(*parts_.model.flat(), metrics_.watched, gradient_scale,
                     parts_.metrics.here().get<TensorStatistics>(statistics_name));
}

void ModelUpdate::apply(double gradient_scale, double lr_multiplier, int update) {
  const WorkName work("the update");
  const WorkLog::Scope log(parts_.log);
  parts_.model.wait_for_reductions();
  parts_.copies.before_state_changes();
  WorkTimer timer(parts_.log, *parts_.services.device, {.name = "optimizer"});
  const UpdateScale scale{.lr_multiplier = lr_multiplier, .grad = gradient_scale, .update = update};
  const auto step = [&] { parts_.model.optimizer().step(scale); };
  if (options_.optimizer->built_in() != nullptr) {
    step();
  } else {
    call_user(fmt::format("the optimizer \"{}\"", options_.optimizer_plugin_name), ErrorInside::is_named,
              step);
  }
  timer.end();
  end_step(/*update=*/true);
}

}  // namespace

std::unique_ptr<RankUpdate> make_model_update(const ModelParts& parts, const ModelOptions& model,
                                              const TaskOptions& task, const MetricOptions& metrics) {
  return std::make_unique<ModelUpdate>(parts, model, task, metrics);
}

}  // namespace d9d
