#pragma once
// What each actor of a process is doing at this moment. Other threads can read it, and so can a signal
// handler on the actor's own thread. Costs two stores and one read of the clock per message.

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "messages/actor_id.hpp"

namespace d9d {

// The entry of one actor. Never moves in memory, and outlives its actor.
struct Activity {
  std::array<char, 96> name{};                // "user/0 (spike_guard)"
  std::atomic<const char*> message{nullptr};  // in work; a text that is never freed; null: none
  std::atomic<std::int64_t> since_ns{0};
};

class Activities {
 public:
  // Adds the name of the user's actor or task to what to_string(id) says. Call it before
  // the actor is spawned.
  void label(ActorId id, std::string label);
  std::string name_of(ActorId id) const;
  Activity& enter(ActorId id);
  // "user/0 (spike_guard) in Event since 12 s, ..." the actors that handle something; empty: none does.
  std::string busy(std::int64_t now_ns) const;
  // "user/0 (spike_guard) in Event since 12 s"; its name alone where it handles nothing.
  std::string doing_of(ActorId id, std::int64_t now_ns) const;

 private:
  mutable std::mutex mutex_;
  std::map<ActorId, std::string> labels_;
  std::list<Activity> lines_;
};

// While this object lives, its thread handles `message` for the actor of `activity`.
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

// While this object lives, the handler of this thread is inside a function of users' code, and reports say "in state()"
// instead of its message. `call` is a text that is never freed. Has no effect on a thread that runs no handler.
class Calling {
 public:
  explicit Calling(const char* call);
  ~Calling();
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  Activity* const activity_;
  const char* const before_;
};

// The activity of the calling thread; null: it runs no handler. Safe in a signal handler.
const Activity* current_activity();

}  // namespace d9d
