#pragma once
// Samples that come one after another from a source with a state of its own (LOOP-24): packs of a length that
// nobody knows before, rows of a database. What the model itself has just written: rollout_stream.hpp.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/data/sample_source.hpp"

namespace d9d {

// Which of the job's data replicas reads a stream.
struct StreamPlace {
  int replica = 0;
  int replicas = 1;
};

// What streams of both kinds have. Used by one thread. All ranks of a data replica open a stream of their own at
// the same place, so from the same place and state every stream must give the same.
class ReplicaStream {
 public:
  virtual ~ReplicaStream() = default;
  // Length S of every sample. With a plugin's collation: the largest length.
  virtual std::int64_t sequence_length() const = 0;
  // Called once, before load_states() and before anything is asked for.
  virtual void begin(const StreamPlace& place) = 0;
  // Returns what load_state() needs to go on after the samples so far. Called for each step, although few are
  // saved: keep it small and quick.
  virtual nlohmann::json state() const = 0;
  virtual void load_state(const nlohmann::json& state) = 0;
  // Goes on from a checkpoint with the states of all its data replicas, in order. Takes that of this replica.
  // Another number of replicas is an input error, unless a stream overrides this and deals out anew.
  virtual void load_states(const std::vector<nlohmann::json>& states, const StreamPlace& place);
};

class SampleStream : public ReplicaStream {
 public:
  // Returns this replica's next sample. Nothing: there is none left. The job ends well, with a checkpoint, when
  // one of its streams has no whole step left. Samples are asked for while the steps before still train.
  virtual std::optional<Sample> next() = 0;
};

}  // namespace d9d
