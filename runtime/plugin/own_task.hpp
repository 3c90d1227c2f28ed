#pragma once
// A task of a plugin: add_task<Smoothed>(registry, "smoothed_lm").

#include "runtime/metric/sums_metric.hpp"
#include "runtime/plugin/own_piece.hpp"
#include "runtime/task/token_task.hpp"

namespace d9d {

// `task: {name: NAME, ...}`: a TrainTask; its prepare() may take the PieceContext.
template <class Task>
void add_task(Registry& registry, const std::string& name) {
  registry.add_task(name, [](const config::Section& section, const PieceContext& context) {
    return own::make<Task>(section, context);
  });
}

}  // namespace d9d
