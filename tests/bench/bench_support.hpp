#pragma once
// What the actor benchmarks share.

#include <sys/resource.h>

#include "actors/core/world.hpp"
#include "messages/common.capnp.h"
#include "messages/encode.hpp"

namespace d9d {

// User and system time of this process so far.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Tells an actor of this process to stop; nothing when it is gone.
inline void stop_actor(World& world, ActorId id) {
  if (const auto mailbox = world.book.find_local(id)) {
    mailbox->deliver(encode<wire::Stop>({.receiver = id}, [](auto) {}), nullptr);
  }
}

}  // namespace d9d
