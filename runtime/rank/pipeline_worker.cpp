#include "runtime/rank/pipeline_worker.hpp"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/model/live_rank_model.hpp"
#include "runtime/rank/model_parts.hpp"
#include "runtime/rank/pass/passes.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

class PipelineWorker final : public RankWorker {
 public:
  PipelineWorker(PipelineWorkerOptions options, BucketObserver& buckets, CommTracing tracing)
      : options_(std::move(options)),
        services_(groups_.watched(options_.services)),
        buckets_(buckets),
        tracing_(std::move(tracing)),
        programs_(options_.order.schedule, pipeline_ranks(), services_.plan->world_size() / pipeline_ranks(),
                  options_.order.search),
        metrics_(options_.metrics.declare, services_.counts_loss()),
        copies_(services_.device) {
    if (!services_.device->is_cpu()) times_.emplace(bool(tracing_.in_compute), programs_);
  }

  PreparedRank prepare() override;
  RankPass& pass(RankPass::Kind kind) override;
  RankUpdate& update() override { return *update_; }
  RankState& state() override { return *state_; }
  StepPrograms& programs() override { return programs_; }
  Device* late_device() override { return services_.device->is_cpu() ? nullptr : services_.device.get(); }
  WorkLog* work_log() override { return times_ ? &times_->log() : nullptr; }

 private:
  int pipeline_ranks() const { return services_.plan->parameters().pipeline_parallel; }
  void load_metrics();
  void make_passes();
  void begin_task();

  DeviceGroups groups_;
  const PipelineWorkerOptions options_;
  const RankServices services_;  // those of the options, watched
  BucketObserver& buckets_;
  const CommTracing tracing_;
  StepPrograms programs_;
  std::optional<ActionTimes> times_;  // none on the CPU
  RankMetrics metrics_;
  std::unique_ptr<RankModel> model_;
  SnapshotCopies copies_;
  std::unique_ptr<RankState> state_;
  std::unique_ptr<RankUpdate> update_;
  std::unique_ptr<RankPass> training_;
  std::unique_ptr<RankPass> samples_;  // null: the rank neither evaluates nor infers
  std::unique_ptr<RankPass> texts_;
};

PreparedRank PipelineWorker::prepare() {
  at::set_num_threads(services_.threads);
  load_metrics();
  model_ = std::make_unique<RankModel>(services_, options_.model, options_.state, options_.order.schedule,
                                       options_.order.overlap, tracing_);
  const ModelParts parts{services_, groups_, *model_, copies_, metrics_, work_log()};
  state_ = make_model_state(parts, options_.state, options_.task.inference);
  update_ = make_model_update(parts, options_.model, options_.task, options_.metrics);
  make_passes();
  begin_task();
  return {model_->entries_loaded(), model_->bucket_groups()};
}

// The task may declare other metrics than the task that wrote the checkpoint.
void PipelineWorker::load_metrics() {
  const std::vector<std::string> dropped = metrics_.load(options_.metrics.states);
  if (services_.rank != 0 || dropped.empty()) return;
  log::warn("the task no longer declares these metrics of the checkpoint, what they counted is dropped: {}",
            fmt::join(dropped, ", "));
}

void PipelineWorker::make_passes() {
  const TaskOptions& task = options_.task;
  const PassParts parts{.services = services_,
                        .groups = groups_,
                        .stages = model_->stages(),
                        .copies = copies_,
                        .topology = model_->topology(),
                        .pipeline_rank = services_.place().pipeline,
                        .noise_seed = stable_hash(fmt::format("{}:{}", options_.model.seed, services_.rank)),
                        .counts_loss = services_.counts_loss(),
                        .log = work_log(),
                        .streams = model_->streams()};
  training_ =
      make_training_pass(parts, {*model_, metrics_, programs_, buckets_, times_ ? &*times_ : nullptr,
                                 options_.order, options_.model, task, options_.metrics.logs_expert_load});
  if (task.inference) {
    samples_ = make_samples_pass(parts, {.task = nullptr, .inference = task.inference});
  } else if (task.evaluates) {
    samples_ = make_samples_pass(parts, {task.task, task.phases.first_training()});
  }
  texts_ = make_texts_pass(parts);
}

void PipelineWorker::begin_task() {
  const TaskOptions& task = options_.task;
  if (!task.begin) return;
  RankContext context = rank_context(task.context, *services_.plan, services_.rank, task.first_step,
                                     model_->measured(services_.open_group));
  context.model = [&] {
    return make_live_model(*model_, options_.model, options_.state, model_->measured(services_.open_group),
                           context.group({"world"}));
  };
  context.count = [counts = metrics_.beside()](const auto& update) { counts->update(update); };
  call_user("the task's begin", ErrorInside::bug_is_named, [&] { task.begin(context); });
}

RankPass& PipelineWorker::pass(RankPass::Kind kind) {
  if (kind == RankPass::Kind::train) return *training_;
  if (kind == RankPass::Kind::texts) return *texts_;
  D9D_CHECK(samples_ != nullptr, "the rank was not made for an evaluation");
  return *samples_;
}

}  // namespace

std::unique_ptr<RankWorker> make_pipeline_worker(PipelineWorkerOptions options, BucketObserver& buckets,
                                                 CommTracing tracing) {
  return std::make_unique<PipelineWorker>(std::move(options), buckets, std::move(tracing));
}

}  // namespace d9d
