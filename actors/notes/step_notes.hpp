#pragma once
// The messages of a loop over steps, and its notes about work that other actors do meanwhile.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

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

// The kinds of its Tick.
enum StepTimer : std::uint32_t { step_deadline = 0, checkpoint_deadline = 1 };

// Of the sleep of a rank between two steps, without memory and links.
struct SleepOfRank {
  bool due = false;                     // a wish: all ranks sleep after the step in work
  std::uint64_t after = 0;              // how many steps were done when it last fell asleep
  std::size_t awaited = 0;              // how many answers to Sleep or Wake are missing
  std::uint64_t bytes = 0;              // how many were freed
  std::optional<std::uint64_t> call{};  // a Wake has come for the sleep after this step
};

// Where the steps of a job end. What ends it earlier than planned: a signal, an actor or an evaluation.
struct EndOfSteps {
  std::uint64_t step = 0;  // the last one, planned or agreed on by all ranks
  int signal = 0;          // 0: no signal
  bool asked = false;      // by an actor or an evaluation
};

// The events that have listeners.
struct ListenedTo {
  std::optional<std::set<std::string, std::less<>>> names{};  // none: the EventBus has not answered yet
  bool maybe(std::string_view event) const {
    return !names || names->contains(event) || names->contains("*");
  }
};

// The job's own actors that rank 0 waits for.
struct FollowingActors {
  std::map<ActorId, std::uint64_t>
      deciding{};                         // how many Events of step and evaluation ends each has followed
  std::set<ActorId> keeping{};            // actors that have a state for checkpoints
  std::uint64_t told = 0;                 // how many of those Events were sent
  std::map<ActorId, std::string> kept{};  // states for the checkpoint in flight
  std::optional<std::uint64_t> asked{};   // the step of the checkpoint for which states are awaited
};

// An event that is sent after the update before it.
struct Announcement {
  std::string event;
  std::uint64_t step;
  std::string context;
};

}  // namespace d9d
