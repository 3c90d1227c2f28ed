#pragma once
// What a job left beside tensors in the checkpoint from which it goes on: what ranks counted, and the
// states of tasks, metrics and own actors. Without a checkpoint everything is empty.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

class ResumedState {
 public:
  // `state`: the JSON of Membership::resume_state.
  explicit ResumedState(const std::string& state = {});

  // Returns what rank 0 counted for the whole job under this key; 0 without it.
  std::uint64_t counted(const char* key) const;
  // Returns how often each update of a step was skipped; zeros without a checkpoint. Input error when its steps had
  // another number of updates.
  std::vector<std::uint64_t> skipped_updates(std::size_t updates) const;
  // Returns what rank 0 kept for the whole job under this key; null without it.
  nlohmann::json kept(const char* key) const;
  // The same, and nothing where rank 0 had no such key.
  std::optional<nlohmann::json> find(const char* key) const;
  // Returns the states of metrics, as JSON, with which this rank of now goes on. The states of the ranks of
  // then go to the ranks of now in turn: metrics are summed over all ranks, so any mesh reports the same.
  std::vector<std::string> metrics_of(int rank, int world_size) const;
  // Returns the states of a stream of data, by data replica; none: the job had no stream.
  std::vector<nlohmann::json> streams() const;
  // Returns the state of an own actor: of those with this name the one at `index` in the job file.
  std::optional<nlohmann::json> actor(const std::string& name, std::size_t index) const;

 private:
  nlohmann::json ranks_ = nlohmann::json::object();  // by the rank's number as a text
};

}  // namespace d9d
