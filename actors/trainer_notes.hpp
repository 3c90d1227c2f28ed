#pragma once
// The messages of a Trainer, and what it notes of work that others do meanwhile.

#include <cstdint>
#include <string>

#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/data.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/texts.capnp.h"
#include "messages/train.capnp.h"

namespace d9d {

// A checkpoint that is due, or that is being written.
struct DueSave {
  std::uint64_t step, next_sample, tokens_total, skipped;
};

// An event that waits for the update before it.
struct Announcement {
  std::string event;
  std::uint64_t step;
  std::string context;
};

}  // namespace d9d
