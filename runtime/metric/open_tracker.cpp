#include "runtime/metric/open_tracker.hpp"

#include "runtime/base/error.hpp"
#include "runtime/metric/jsonl_sink.hpp"
#include "runtime/metric/log_sink.hpp"
#include "runtime/metric/tensorboard_sink.hpp"

namespace d9d {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

void require_available(const TrackerTarget& target) {
  const auto* unavailable = std::get_if<UnavailableTarget>(&target);
  if (unavailable == nullptr) return;
  throw Error(ErrorKind::input,
              fmt::format("the tracker \"{}\" is not in this build; choose tensorboard, log or null "
                          "(metrics.jsonl is written in any case and can be imported there)",
                          unavailable->provider));
}

std::unique_ptr<TrackerRun> open_tracker(const TrackerTarget& target, std::int64_t last_step,
                                         const Clock& clock) {
  require_available(target);
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
          [](const UnavailableTarget&) -> Run { return nullptr; },
      },
      target);
}

}  // namespace d9d
