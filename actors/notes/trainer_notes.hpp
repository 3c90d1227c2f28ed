#pragma once
// The messages of a Trainer, and what it notes of work that others do meanwhile.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/actor_id.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/data.capnp.h"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/texts.capnp.h"
#include "messages/train.capnp.h"

namespace d9d {

enum class TrainerPhase {
  waiting,
  computing,
  following,
  reducing,
  hooking,
  evaluating,
  comparing,
  restoring,
  generating,
  sleeping,
  finished
};
const char* name_of(TrainerPhase phase);  // for an error

// Of a Tick.
enum TrainerDeadline : std::uint32_t { step_deadline = 0, checkpoint_deadline = 1 };

// A checkpoint that is due, or that is being written.
struct DueSave {
  std::uint64_t step, next_sample, tokens_total, skipped;
};

// Where a Trainer is between two steps without memory.
struct SleepOfRank {
  bool asked = false;                   // all ranks have agreed to sleep after this step
  std::uint64_t after = 0;              // the steps done when it fell asleep last
  std::size_t awaited = 0;              // answers to Sleep or Wake
  bool is_linked = true;                // the rank's links to others are open, or are told to be
  bool is_deep = false;                 // memory and links are gone
  std::uint64_t bytes = 0;              // that went
  std::optional<std::uint64_t> call{};  // somebody said Wake for that sleep
};

// The events that somebody wants to hear of.
struct ListenedTo {
  std::optional<std::set<std::string>> names{};  // none: the EventBus has not answered yet
  bool maybe(const std::string& event) const {
    return !names || names->contains(event) || names->contains("*");
  }
};

// Own actors of the job that the Trainer of rank 0 waits for.
struct FollowingActors {
  std::map<ActorId, std::uint64_t>
      deciding{};               // and how many Events of the ends of steps and evaluations it followed
  std::set<ActorId> keeping{};  // that have a state for checkpoints
  std::uint64_t told = 0;       // so many of those Events were told
  std::map<ActorId, std::string> kept{};  // states for the checkpoint in flight
};

// An event that waits for the update before it.
struct Announcement {
  std::string event;
  std::uint64_t step;
  std::string context;
};

}  // namespace d9d
