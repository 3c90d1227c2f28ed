// The pass that trains.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/metric/expert_load.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/measured/host_totals.hpp"
#include "runtime/rank/measured/rank_experts.hpp"
#include "runtime/rank/pass/phase_losses.hpp"
#include "runtime/rank/pass/stages_pass.hpp"
#include "runtime/rank/untrained/untrained_weights.hpp"

namespace d9d {
namespace {

// The program of an update with forward phases (step_phases.hpp): first their forwards, then the schedule's
// program of the other microbatches. Kept from step to step.
class PhaseProgram {
 public:
  // `trained`: the program of the microbatches after the first `forwards` ones.
  std::shared_ptr<const PipelineProgram> get(std::shared_ptr<const PipelineProgram> trained, int forwards) {
    if (forwards == 0) return trained;
    if (trained_ != trained || forwards_ != forwards) {
      whole_ = behind_forwards(*trained, forwards);
      trained_ = std::move(trained);
      forwards_ = forwards;
    }
    return whole_;
  }

 private:
  std::shared_ptr<const PipelineProgram> trained_, whole_;
  int forwards_ = 0;
};

class TrainingPass final : public StagesPass, private GradientObserver {
 public:
  TrainingPass(const PassParts& parts, const TrainingParts& training)
      : StagesPass(parts,
                   make_cursor(training.order.cursor, parts.pipeline_rank, training.order.extra_activations),
                   training.order.follows),
        training_(training),
        losses_({training.task.task, training.task.phases, parts.counts_loss, &training.metrics.of_losses(),
                 parts.services.device, training.task.plugin_name}),
        phase_programs_(static_cast<std::size_t>(training.task.phases.num_updates())) {
    for (const auto& [stage, built] : parts.stages) {
      // The nodes that add to gradients stay on the stream on which they are made, here.
      std::optional<StreamScope> scope;
      if (parts.streams != nullptr) scope.emplace(*parts.services.device, parts.streams->stream_of(stage));
      cores_[stage] = std::make_unique<StageCore>(options_of(stage, built), *parts.services.table);
    }
    if (training.order.overlap == Overlap::always && !parts_may_overlap()) warn_of_no_overlap();
  }

  void begin(const PassRequest& request) override;
  std::vector<double> take_metrics() override { return training_.metrics.take(); }

 private:
  PassResult end() override;
  ComputeLanes* lanes() const override { return training_.model.lanes(); }
  void gradient_complete(int stage, std::size_t parameter, bool last) override;

  StageCoreOptions options_of(int stage, const RankModel::Stage& built);
  bool parts_may_overlap() const;
  void warn_of_no_overlap() const;
  void wait_for_all_stages(const GradientBucket& bucket);
  void name_unreached(int stage, const StageCore& core, const StageLosses& losses);

  const TrainingParts training_;
  PhaseLosses losses_;
  std::vector<PhaseProgram> phase_programs_;       // of each update of a step
  int update_ = 0;                                 // in work
  std::set<std::pair<int, int>> unreached_named_;  // stages and updates that name_unreached() has done
};

StageCoreOptions TrainingPass::options_of(int stage, const RankModel::Stage& built) {
  StageCoreOptions core = core_options(stage, built.module);
  core.synchronous = parts_.services.synchronous_device;
  core.observer = this;
  core.each_microbatch = built.units.reduce_each_microbatch();
  if (!built.units.empty()) {
    core.before_weight_job = [&units = built.units](const at::Tensor& weight, bool reads) {
      units.before_weight_job(weight, reads);
    };
  }
  const char* const why = built.units.empty() ? "" : " (its values are gathered for each use)";
  core.on_not_split = [stage, why, module = built.module, told = std::set<std::string>()](
                          std::size_t parameter, const std::string& nodes) mutable {
    if (!told.insert(nodes).second) return;
    log::warn(
        "stage {}: {} cannot leave weight gradients to W, so that of {} is computed with I{}: right, but not "
        "split",
        stage, nodes, module->parameters()[parameter].name, why);
  };
  if (!training_.options.plugin_name.empty()) {
    core.whose = fmt::format("the model \"{}\"", training_.options.plugin_name);
    if (built.units.empty())
      core.on_unregistered = [stage](const std::vector<at::Tensor>& tensors) {
        log::warn("{}", unregistered_text(stage, tensors));
      };
  }
  core.compute_loss = [this](const LastStageOutputs& outputs) { return losses_.compute(outputs); };
  core.consume_outputs = [this](const LastStageOutputs& outputs) { losses_.carry(outputs); };
  return core;
}

void TrainingPass::begin(const PassRequest& request) {
  std::vector<MicrobatchTensors> tensors = take_microbatches(request.microbatches, training_.metrics.here());
  parts_.copies.before_buffers_change();
  if (!parts_.services.device->is_cpu())  // anew when the job has slept
    parts_.services.gradients->reductions.connect(training_.model.bucket_groups());
  update_ = request.update;
  const int forwards = losses_.begin(update_, tensors);
  training_.model.sync().begin_step();
  for (auto& [stage, core] : cores_) core->begin_step(request.step, tensors);
  const auto program = phase_programs_[static_cast<std::size_t>(update_)].get(
      training_.programs.get(static_cast<int>(tensors.size()) - forwards), forwards);
  const std::string report = training_.programs.take_report();
  if (parts_.services.rank == 0 && !report.empty()) log::info("{}", report);
  order_.begin_step({request.step, static_cast<std::uint32_t>(update_)},
                    parts_may_overlap() ? program : parts_apart(program));
}

// On CPUs false when a stage gathers units inside actions: which of two lanes asks for a unit first depends on
// timing, and ranks that gather in different orders would wait for each other forever. On a device
// collectives are queued in program order, whatever streams the parts are on.
bool TrainingPass::parts_may_overlap() const {
  if (!parts_.services.device->is_cpu()) return parts_.streams != nullptr;
  return lanes() != nullptr &&
         std::none_of(parts_.stages.begin(), parts_.stages.end(),
                      [](const auto& stage) { return stage.second.units.communicate_in_actions(); });
}

// Called inside run(), on the computing thread (step_observer.hpp).
void TrainingPass::gradient_complete(int stage, std::size_t parameter, bool last) {
  RankModel& model = training_.model;
  const std::size_t first = parts_.stages.at(stage).first_parameter;
  for (const int bucket : model.sync().mark_complete(first + parameter, last)) {
    const GradientBucket& ready = model.flat()->buckets()[static_cast<std::size_t>(bucket)];
    const bool moves = model.flat()->families()[ready.family].moves_in(update_);
    if (ready.unit) {
      if (!moves) ready.unit->zero_gradient();
      ready.unit->hand_over_gradient(last);
    } else if (!moves) {
      ready.grad.zero_();
    }
    if (parts_.streams != nullptr) wait_for_all_stages(ready);
    if (!parts_.services.device->is_cpu())
      parts_.services.gradients->reductions.launch(model.bucket_groups()[static_cast<std::size_t>(bucket)],
                                                   bucket);
    training_.buckets.bucket_complete(bucket);
  }
}

// Elsewhere than on CPUs the job file shows it (job/rule/without_effect.cpp).
void TrainingPass::warn_of_no_overlap() const {
  if (parts_.services.rank != 0 || !composes_actions(training_.order.schedule)) return;
  log::warn("trainer.pipelining.overlap is always, but parts of composed actions run one after the other: {}",
            lanes() == nullptr
                ? "on CPUs they overlap where one waits for other ranks, and none does"
                : "parameters are gathered in them (parallelism.fully_shard), on CPUs in an order "
                  "that must not depend on timing");
}

// The sum comes behind the stream of the stage that completes the bucket. Parameters of other stages may be in it, too.
void TrainingPass::wait_for_all_stages(const GradientBucket& bucket) {
  Device& device = *parts_.services.device;
  const WorkName work("a bucket of several stages");
  for (const auto& [stage, built] : parts_.stages) {
    const bool has_part =
        std::any_of(bucket.segments.begin(), bucket.segments.end(), [&](const FlatSegment& segment) {
          return segment.parameter >= built.first_parameter && segment.parameter < built.end_parameter;
        });
    const StreamRole stream = parts_.streams->stream_of(stage);
    if (has_part && stream != device.current_stream())
      device.wait(StreamRole::communicate, device.record(stream));
  }
}

PassResult TrainingPass::end() {
  const WaitPlace place("step end");
  const WorkName work("the step's end");
  const WorkLog::Scope log(parts_.log);
  RankModel& model = training_.model;
  model.wait_for_reductions();
  std::vector<StageLosses> steps;
  for (auto& [stage, core] : cores_) {
    steps.push_back(core->end_step());
    name_unreached(stage, *core, steps.back());
    parts_.stages.at(stage).units.end_step();
  }
  model.flat()->zero_grad_outside(update_);  // of buckets that no group reduces
  model.tied().sum();
  StepTotals totals =
      host_totals(steps, *model.flat(), *parts_.services.gradients->norm_parts, training_.options.norm);
  if (!parts_.counts_loss) totals.loss_sum = totals.weight_sum = 0;
  if (training_.logs_expert_load)
    model.experts().count(training_.metrics.here().get<ExpertLoad>(expert_load_name));
  losses_.end();
  if (training_.times != nullptr) training_.times->end_step(order_);
  totals.costs = training_.programs.finish_step();
  return {std::move(totals)};
}

// Warns after the first step in which a label counts, of what the update in work moves. Only one of the ranks that hold
// the stage logs it.
void TrainingPass::name_unreached(int stage, const StageCore& core, const StageLosses& losses) {
  const bool is_last = stage == parts_.topology.num_stages() - 1;
  if (is_last && losses.losses.empty()) return;
  if (!unreached_named_.emplace(stage, update_).second) return;
  const RankPlacement& place = parts_.services.place();
  if (place.data != 0 || place.tensor != 0) return;
  const RankModel::Stage& built = parts_.stages.at(stage);
  std::vector<std::size_t> unreached = core.unreached();
  std::erase_if(unreached, [&](std::size_t parameter) {
    return !training_.model.flat()->is_moved(built.first_parameter + parameter, update_);
  });
  const std::string text = unreached_text(stage, built.module->parameters(), unreached);
  if (!text.empty()) log::warn("{}", text);
}

}  // namespace

std::unique_ptr<RankPass> make_training_pass(const PassParts& parts, const TrainingParts& training) {
  return std::make_unique<TrainingPass>(parts, training);
}

}  // namespace d9d
