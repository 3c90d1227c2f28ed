#pragma once
// Who on a rank wants to be called at which event: callbacks of tasks and models, run where and when the event happens,
// in the order of subscription. What a callback throws is logged with subscriber and event, and training goes on as if
// it had returned, unless the subscription says that it ends the job. An event without a subscriber costs a look at an
// empty list. No torch.

#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/task/configuration_events.hpp"
#include "runtime/task/events.hpp"

namespace d9d {

// What follows when a callback throws: training goes on; or the job fails with that text, and the subscribers after it
// do not hear the event.
enum class OnThrow { goes_on, ends_job };

class RankEvents {
 public:
  // `infers`: which of an event's names logs use. `rank`: global. `plan` outlives this.
  RankEvents(int rank, bool infers, const Plan* plan = nullptr) : rank_(rank), infers_(infers), plan_(plan) {}
  RankEvents(const RankEvents&) = delete;
  RankEvents& operator=(const RankEvents&) = delete;

  int rank() const { return rank_; }
  // Mesh and placement of all ranks, as the job runs: known in register_events() already. Null only in tests.
  const Plan* plan() const { return plan_; }

  // `who`: for the log. In register_events() only: afterwards several threads read, so a later one is an input error.
  template <class Event>
  void on(std::string who, std::function<void(const Event&)> call, OnThrow on_throw = OnThrow::goes_on) {
    require_open(who, name_of<Event>());
    list<Event>().push_back({std::move(who), std::move(call), on_throw});
  }
  // All have registered.
  void close() { closed_ = true; }

  // Has the job end well, as the actors' request does: after the step whose sums rank 0 adds next, with a checkpoint,
  // `export_to` and exit code 0; log, report and run.jsonl show who asked, and `reason`. In callbacks and elsewhere, on
  // any thread, also after register_events(): this object lives as long as the rank's actors. Callbacks of StepPre and
  // ForwardPost of rank 0 end the job with their step, those of StepPost with the next one; those of other ranks, which
  // send a message to rank 0, with this or a later step. Of several reasons the first counts.
  void end_job(std::string who, std::string reason) const;
  // Takes the text of the first end_job() since the last call; empty: nobody has asked. For the rank's loop over steps.
  std::string take_end() const;

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
      guarded(each.who, name_of<Event>(), each.on_throw, [&] { each.call(event); });
  }

 private:
  template <class Event>
  struct Subscriber {
    std::string who;
    std::function<void(const Event&)> call;
    OnThrow on_throw;
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
  void guarded(const std::string& who, std::string_view event, OnThrow on_throw,
               const std::function<void()>& call) const;

  const int rank_;
  const bool infers_;
  const Plan* const plan_;
  bool closed_ = false;
  mutable std::mutex mutex_;
  mutable std::string end_wanted_;
  Lists<events::ConfigurationStart, events::ConfigurationDataStream, events::ConfigurationModelStages,
        events::ConfigurationOptimizer, events::ConfigurationLrScheduler, events::Ready, events::StepPre,
        events::StepPost, events::ForwardPre, events::ForwardPost, events::OptimizerStepPre,
        events::OptimizerStepPost, events::EvaluationPre, events::EvaluationPost, events::SleepPre,
        events::SleepPost, events::WakePre, events::WakePost, events::Finished>
      lists_;
};

}  // namespace d9d
