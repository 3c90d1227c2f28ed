#pragma once
// Who on a rank wants to be called at which event: callbacks of tasks and models, run where and when the event happens,
// in the order of subscription. What a callback throws is logged with subscriber and event; training goes on as if it
// had returned. An event without a subscriber costs a look at an empty list. No torch.

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/task/configuration_events.hpp"
#include "runtime/task/events.hpp"

namespace d9d {

class RankEvents {
 public:
  // `infers`: which of an event's names logs use. `rank`: global.
  RankEvents(int rank, bool infers) : rank_(rank), infers_(infers) {}
  RankEvents(const RankEvents&) = delete;
  RankEvents& operator=(const RankEvents&) = delete;

  int rank() const { return rank_; }

  // `who`: for the log. In register_events() only: afterwards several threads read, so a later one is an input error.
  template <class Event>
  void on(std::string who, std::function<void(const Event&)> call) {
    require_open(who, name_of<Event>());
    list<Event>().push_back({std::move(who), std::move(call)});
  }
  // All have registered.
  void close() { closed_ = true; }

  // In this kind of job; empty: it does not occur.
  template <class Event>
  std::string_view name_of() const {
    return infers_ ? Event::infer : Event::train;
  }
  template <class Event>
  bool wanted() const {
    return !list<Event>().empty();
  }
  // Whether anybody wants any.
  bool is_heard() const {
    return std::apply([](const auto&... lists) { return (... || !lists.empty()); }, lists_);
  }
  template <class Event>
  void tell(const Event& event) const {
    for (const Subscriber<Event>& each : list<Event>())
      guarded(each.who, name_of<Event>(), [&] { each.call(event); });
  }

 private:
  template <class Event>
  struct Subscriber {
    std::string who;
    std::function<void(const Event&)> call;
  };
  template <class... Event>
  using Lists = std::tuple<std::vector<Subscriber<Event>>...>;

  template <class Event>
  std::vector<Subscriber<Event>>& list() {
    return std::get<std::vector<Subscriber<Event>>>(lists_);
  }
  template <class Event>
  const std::vector<Subscriber<Event>>& list() const {
    return std::get<std::vector<Subscriber<Event>>>(lists_);
  }
  void require_open(const std::string& who, std::string_view event) const;
  void guarded(const std::string& who, std::string_view event, const std::function<void()>& call) const;

  const int rank_;
  const bool infers_;
  bool closed_ = false;
  Lists<events::ConfigurationStart, events::ConfigurationDataStream, events::ConfigurationModelStages,
        events::ConfigurationOptimizer, events::ConfigurationLrScheduler, events::Ready, events::StepPre,
        events::StepPost, events::ForwardPre, events::ForwardPost, events::OptimizerStepPre,
        events::OptimizerStepPost, events::EvaluationPre, events::EvaluationPost, events::SleepPre,
        events::SleepPost, events::WakePre, events::WakePost, events::Finished>
      lists_;
};

}  // namespace d9d
