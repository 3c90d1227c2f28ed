#include "actors/job/cast/rank_cast.hpp"
#include "actors/loader.hpp"
#include "actors/metric_collector.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/batch_maths.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/rank/feed/context_place.hpp"
#include "runtime/rank/feed/source_feed.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/task/task.hpp"

namespace d9d {
namespace {

std::function<void(Compose&)> evaluation_metrics(const std::shared_ptr<TrainTask>& task) {
  return [task](Compose& metrics) { declare_task_metrics(*task, metrics); };
}

}  // namespace

SourceFeedOptions RankCast::feed(std::int64_t batches) const {
  const BatchingConfig& batching = job().trainer.batching;
  const auto& model = process.loaded.model;  // null: a plugin's
  BatchMaths maths = batch_maths(batching.global_batch_size / batches, batching.microbatch_size,
                                 plan().parameters().data_parallel());
  if (batching.cut_to_longest) maths.cut_unit = sequence_unit(job());
  return {.collation = process.prepared.collation,
          .maths = maths,
          .data_rank = own.place.data,
          .task = task,
          .counts = own.counts_tokens,
          .place = context_place(plan(), rank, job().parallelism.context.order),
          .causal = !model || model->causal,
          .prediction_depths = model ? model->prediction_depths : 0,
          .flops_per_token = flops_per_token(job(), model.get()),
          .readers = static_cast<int>(job().trainer.data_loading.num_workers),
          .sample_timeout = std::chrono::seconds(job().trainer.data_loading.timeout),
          .threads = process.threads_per_rank,
          .table = &epoch.table()};
}

CastMember RankCast::loader() const {
  SourceFeedOptions training = feed(process.prepared.phases.num_batches());
  training.phases = process.prepared.phases;
  training.source = process.prepared.source;
  training.declare_metrics = metrics();
  training.first_step = membership().resume_step + 1;
  training.first_sample = membership().resume_sample;
  const bool is_stream = training.source && training.source->is_stream();
  if (is_stream) training.stream_states = resumed.streams();
  if (is_stream && rank == 0 && membership().resume_step > 0 && training.stream_states.empty())
    log::warn("the checkpoint has no state of the stream that data.source names: the stream begins anew");
  if (is_stream && rank == 0 && training.readers > 0)
    log::warn("data_loading.num_workers has no effect: samples of a stream come one after another");
  training.text_seed = static_cast<std::uint64_t>(job().trainer.determinism.base_seed);
  training.end_sample = process.prepared.end_sample;
  training.numbers_samples = inference != nullptr;
  training.fills_last = !inference && !job().trainer.batching.drop_last;
  return {at(Role::loader), Threading::own_thread,
          factory_of<Loader>(Loader::MakeFeed([training, events = events] {
            events->tell(events::ConfigurationDataStream{training.source.get()});
            return make_source_feed(training);
          })),
          true};
}

CastMember RankCast::evaluation_loader() const {
  SourceFeedOptions evaluation = feed(1);
  evaluation.phase = process.prepared.phases.first_training();
  evaluation.source = process.prepared.evaluation_source;
  evaluation.declare_metrics = evaluation_metrics(task);
  evaluation.cycle_steps = process.prepared.evaluation_batches;
  evaluation.end_sample = process.prepared.evaluation_end;
  evaluation.shortens_last = true;
  return {at(Role::evaluation_loader), Threading::own_thread,
          factory_of<Loader>(Loader::MakeFeed([evaluation] { return make_source_feed(evaluation); })), true};
}

CastMember RankCast::metric_collector() const {
  MetricCollectorOptions options{.rank = rank,
                                 .collective = collective_id(rank, metric_group),
                                 .create = metrics(),
                                 .create_evaluation = evaluation_metrics(task)};
  return {at(Role::metric_collector), Threading::own_thread, factory_of<MetricCollector>(std::move(options))};
}

}  // namespace d9d
