#include "actors/event_bus.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr const char* every_event = "*";

bool is_known(const std::string& name) {
  const auto& all = event_catalogue();
  return std::find(all.begin(), all.end(), name) != all.end();
}

// True for events that come once for each rank, before its first step.
bool begins_a_job(const std::string& name) {
  return name.find(".configuration.") != std::string::npos || name.ends_with(".ready");
}

}  // namespace

const std::vector<std::string>& event_catalogue() {
  static const std::vector<std::string> names{
      "train.configuration.start",
      "train.configuration.data_stream",
      "train.configuration.model_stages",
      "train.configuration.optimizer",
      "train.configuration.lr_scheduler",
      "train.ready",
      "train.step.pre",
      "train.forward_backward.pre",
      "train.forward_backward.post",
      "train.optimizer_step.pre",
      "train.optimizer_step.post",
      "train.step.post",
      "train.sleep.pre",
      "train.sleep.post",
      "train.wake.pre",
      "train.wake.post",
      "train.evaluation.pre",
      "train.evaluation.post",
      "train.rolled_back",
      "train.checkpoint.committed",
      "train.checkpoint.failed",
      "train.exported",
      "train.finished",
      "train.stopped",
      "inference.configuration.start",
      "inference.configuration.data_stream",
      "inference.configuration.model_stages",
      "inference.ready",
      "inference.step.pre",
      "inference.forward.pre",
      "inference.forward.post",
      "inference.step.post",
      "inference.checkpoint.committed",
      "inference.checkpoint.failed",
      "inference.finished",
      "inference.stopped",
      "job.failed",
  };
  return names;
}

void EventBus::behavior(Handlers& handlers) {
  handlers.on(this, &EventBus::subscribe);
  handlers.on(this, &EventBus::publish);
  handlers.on(this, &EventBus::ask_for_listeners);
  handlers.on(this, &EventBus::flush_events);
  handlers.on(this, &EventBus::keep_state);
}

void EventBus::subscribe(wire::Subscribe::Reader message) {
  const std::string name = message.getName();
  D9D_REQUIRE(name == every_event || is_known(name),
              "{} subscribed to \"{}\", which is no event; expected * or one of: {}", to_string(sender()),
              name, fmt::join(event_catalogue(), ", "));
  subscriptions_.push_back({name, sender(), message.getEveryRank()});
  if (message.getDecides()) deciding_.insert(sender());
  if (message.getKeepsState()) keeping_.insert(sender());
  if (message.getPast()) {
    for (Happened& happened : beginning_) {
      if (is_for(subscriptions_.back(), happened)) tell_once(sender(), happened);
    }
  }
  for (const Publisher& publisher : publishers_) tell_listeners(publisher);
}

void EventBus::ask_for_listeners(wire::AskForListeners::Reader message) {
  publishers_.push_back({sender(), message.getRank()});
  tell_listeners(publishers_.back());
}

void EventBus::flush_events(wire::FlushEvents::Reader message) {
  for (std::size_t actor = 0; actor < own_actors_; ++actor) {
    const ActorId own{Role::user, actor};
    if (world().book.find_local(own)) {
      tell<wire::FlushEvents>(
          own, [&](wire::FlushEvents::Builder flush) { flush.setActors(message.getActors()); });
    } else {  // the actor has finished by itself, and hears nothing more
      tell<wire::EventsHeard>({Role::coordinator, 0}, [&](wire::EventsHeard::Builder heard) {
        heard.setActor(static_cast<std::uint32_t>(actor));
      });
    }
  }
}

void EventBus::keep_state(wire::KeepState::Reader message) {
  for (const ActorId actor : keeping_) {
    if (world().book.find_local(actor)) {
      tell<wire::KeepState>(actor, [&](wire::KeepState::Builder keep) { keep.setStep(message.getStep()); });
    } else {  // the actor has finished by itself
      tell<wire::StateKept>({Role::trainer, 0}, [&](wire::StateKept::Builder kept) {
        kept.setStep(message.getStep());
        kept.setActor(actor.packed());
      });
    }
  }
}

void EventBus::stop() {
  for (std::size_t actor = 0; actor < own_actors_; ++actor) tell<wire::Stop>({Role::user, actor});
  finish();
}

void EventBus::tell_listeners(const Publisher& publisher) {
  std::set<std::string> names;
  std::ranges::copy_if(event_catalogue(), std::inserter(names, names.end()), begins_a_job);
  for (const Subscription& subscription : subscriptions_) {
    if (publisher.rank == 0 || subscription.every_rank) names.insert(subscription.name);
  }
  tell<wire::Listeners>(publisher.id, [&](wire::Listeners::Builder listeners) {
    auto list = listeners.initNames(static_cast<unsigned>(names.size()));
    unsigned index = 0;
    for (const std::string& name : names) list.set(index++, name.c_str());
    if (publisher.rank != 0) return;
    const auto fill = [](auto packed, const std::set<ActorId>& actors) {
      unsigned at = 0;
      for (const ActorId actor : actors) packed.set(at++, actor.packed());
    };
    fill(listeners.initDeciding(static_cast<unsigned>(deciding_.size())), deciding_);
    fill(listeners.initKeeping(static_cast<unsigned>(keeping_.size())), keeping_);
  });
}

void EventBus::publish(wire::Publish::Reader message) {
  const std::string name = message.getName();
  D9D_REQUIRE(is_known(name), "{} published \"{}\", which is no event; expected one of: {}",
              to_string(sender()), name, fmt::join(event_catalogue(), ", "));
  Happened happened{name, message.getStep(), message.getContext(), message.getRank()};
  for (const Subscription& subscription : subscriptions_) {
    if (is_for(subscription, happened)) tell_once(subscription.listener, happened);
  }
  if (begins_a_job(name)) beginning_.push_back(std::move(happened));
}

bool EventBus::is_for(const Subscription& subscription, const Happened& happened) {
  return (subscription.name == happened.name || subscription.name == every_event) &&
         (happened.rank == 0 || subscription.every_rank);
}

// An actor that subscribed twice, or also to everything, gets the event once.
void EventBus::tell_once(ActorId listener, Happened& happened) {
  if (!happened.told.insert(listener).second) return;
  tell<wire::Event>(listener, [&](wire::Event::Builder event) {
    event.setName(happened.name);
    event.setStep(happened.step);
    event.setContext(happened.context);
    event.setRank(happened.rank);
  });
}

}  // namespace d9d
