#pragma once
// Tells ThreadSanitizer the order of events that CAF's mailboxes and scheduler guarantee. It cannot see
// that order, because Debian's CAF is not instrumented. Does nothing in other builds.

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace d9d {

// Everything this thread wrote is visible to a thread that later calls tsan_acquire() with the same address.
inline void tsan_release([[maybe_unused]] const void* address) {
#if defined(__SANITIZE_THREAD__)
  if (address != nullptr) __tsan_release(const_cast<void*>(address));
#endif
}

inline void tsan_acquire([[maybe_unused]] const void* address) {
#if defined(__SANITIZE_THREAD__)
  if (address != nullptr) __tsan_acquire(const_cast<void*>(address));
#endif
}

// One turn of an actor. Everything that the actor did in its last turn, on any thread,
// happened before this one.
class ActorTurn {
 public:
  explicit ActorTurn(const void* actor) : actor_(actor) { tsan_acquire(actor_); }
  ~ActorTurn() { tsan_release(actor_); }
  ActorTurn(const ActorTurn&) = delete;
  ActorTurn& operator=(const ActorTurn&) = delete;

 private:
  const void* actor_;
};

}  // namespace d9d
