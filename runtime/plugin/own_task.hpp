#pragma once
// A task of a plugin that trains, and one that infers: add_task<Smoothed>(registry, "smoothed_lm").

#include "runtime/metric/sums_metric.hpp"
#include "runtime/plugin/own_piece.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/token_task.hpp"

namespace d9d {

// `task: {name: NAME, ...}`: a TrainTask; its prepare() may take the PieceContext.
template <class Task>
void add_task(Registry& registry, const std::string& name) {
  registry.add_task(name, [](const config::Section& section, const PieceContext& context) {
    return own::make<Task>(section, context);
  });
}

// The same in a job with a section `inference`: an InferenceTask; its prepare() may take the InferencePlace.
template <class Task>
void add_inference_task(Registry& registry, const std::string& name) {
  registry.add_inference_task(name, [](const config::Section& section, const InferencePlace& place) {
    return own::make<Task>(section, place);
  });
}

}  // namespace d9d
