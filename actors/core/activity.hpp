#pragma once
// What the actors of a process are doing at this moment: readable from other threads, and
// from a signal handler on the thread that does it. Costs two stores and a clock a message.

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "messages/actor_id.hpp"

namespace d9d {

// One actor's line. Never moves; outlives its actor.
struct Activity {
  std::array<char, 96> name{};                // "user/0 (spike_guard)"
  std::atomic<const char*> message{nullptr};  // being handled, text that lives for ever; null: none
  std::atomic<std::int64_t> since_ns{0};
};

class Activities {
 public:
  // What to_string(id) does not say: which of the user's actors or tasks it is. Before the actor is spawned.
  void label(ActorId id, std::string label);
  std::string name_of(ActorId id) const;
  Activity& enter(ActorId id);
  // "user/0 (spike_guard) in Event since 12 s, ..." of the actors that handle something; empty: none does.
  std::string busy(std::int64_t now_ns) const;

 private:
  mutable std::mutex mutex_;
  std::map<ActorId, std::string> labels_;
  std::list<Activity> lines_;
};

// While alive, this thread works on this line.
class Doing {
 public:
  Doing(Activity& activity, const char* message, std::int64_t now_ns);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  Activity& activity_;
  const char* const before_message_;
  Activity* const before_;
};

// Of the calling thread; null: it runs no handler. Safe in a signal handler.
const Activity* current_activity();

}  // namespace d9d
