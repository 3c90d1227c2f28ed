#pragma once
// A tracker of a plugin: add_tracker<Table>(registry, "table").

#include "runtime/metric/sink/tracker.hpp"
#include "runtime/plugin/own_piece.hpp"

namespace d9d {

// `trainer.logging.tracker: {provider: NAME, ...}`: a TrackerRun; it is opened by prepare(const TrackerContext&).
template <class Run>
void add_tracker(Registry& registry, const std::string& name) {
  registry.add_tracker(name, [](const config::Section& section) -> OpenTracker {
    Run looked_at;  // what is wrong with the keys is found before the job starts
    own::read_keys(looked_at, section);
    return [section](const TrackerContext& context) {
      auto run = std::make_unique<Run>();
      own::read_keys(*run, section);
      run->prepare(context);
      return run;
    };
  });
}

}  // namespace d9d
