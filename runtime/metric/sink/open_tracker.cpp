#include "runtime/metric/sink/open_tracker.hpp"

#include "runtime/metric/sink/jsonl_sink.hpp"
#include "runtime/metric/sink/log_sink.hpp"
#include "runtime/metric/sink/tensorboard_sink.hpp"

namespace d9d {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

std::unique_ptr<TrackerRun> open_tracker(const TrackerTarget& target, std::int64_t last_step,
                                         const Clock& clock) {
  using Run = std::unique_ptr<TrackerRun>;
  return std::visit(
      Overloaded{
          [](const NullTarget&) -> Run { return std::make_unique<NullRun>(); },
          [](const LogTarget&) -> Run { return std::make_unique<LogRun>(); },
          [&](const JsonlTarget& to) -> Run { return std::make_unique<JsonlRun>(to.path, last_step); },
          [&](const TensorboardTarget& to) -> Run {
            return std::make_unique<TensorboardRun>(TensorboardOptions{to.log_dir, to.host, last_step},
                                                    clock);
          },
          [](const BridgeOptions& to) -> Run { return std::make_unique<BridgeRun>(to); },
      },
      target);
}

}  // namespace d9d
