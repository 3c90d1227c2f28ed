#pragma once
// Tells ThreadSanitizer what it cannot see: Debian's CAF is not instrumented, so the order that its mailboxes
// and scheduler give is unknown to it. Nothing in other builds.

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace d9d {

// What this thread wrote is visible to the thread that calls tsan_acquire() with the same address later.
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

// The turn of one actor: what it did in its last turn, on whatever thread, happened before.
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
