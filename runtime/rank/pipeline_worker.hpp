#pragma once
// The RankWorker over a model: the parts of a rank and how they are put together. No torch in this header.

#include <memory>

#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/rank/group/comm_tracing.hpp"
#include "runtime/rank/group/rank_services.hpp"
#include "runtime/rank/model/model_options.hpp"
#include "runtime/rank/pass/pass_options.hpp"
#include "runtime/rank/rank_worker.hpp"

namespace d9d {

struct PipelineWorkerOptions {
  RankServices services;
  OrderOptions order;
  ModelOptions model;
  StateOptions state;
  TaskOptions task;
  MetricOptions metrics;
};

// `buckets` must outlive the worker. It is not called before a pass begins.
std::unique_ptr<RankWorker> make_pipeline_worker(PipelineWorkerOptions options, BucketObserver& buckets,
                                                 CommTracing tracing = {});

}  // namespace d9d
