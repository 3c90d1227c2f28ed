#pragma once
// Reads a stream for the steps of one rank. It reads one step ahead, so that it knows the last step: ranks
// whose streams end later have to end with it.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/json_text.hpp"
#include "runtime/data/sample_stream.hpp"

namespace d9d {

class StreamReader {
 public:
  // `states`: of all data replicas of a checkpoint; empty: begins anew.
  StreamReader(std::shared_ptr<SampleStream> stream, const StreamPlace& place,
               const std::vector<nlohmann::json>& states);
  // Reads the samples of a step. False: the stream has fewer left.
  bool read_step(std::size_t samples);
  // Returns the next samples of the step that was read last.
  std::vector<Sample> take(std::size_t count);
  bool is_last() const { return ahead_.size() < step_.size(); }  // no whole step follows that one
  // JSON for states_of_streams(): where the stream is after that step.
  std::string state() const { return json_text(state_); }

 private:
  std::vector<Sample> read(std::size_t samples) const;

  const std::shared_ptr<SampleStream> stream_;
  const StreamPlace place_;
  bool began_ = false;
  std::vector<Sample> step_, ahead_;  // the step that was read last, and what follows it
  std::size_t taken_ = 0;
  nlohmann::json state_;
};

// Returns the states of a stream's data replicas, in order, from those that ranks saved.
std::vector<nlohmann::json> states_of_streams(const std::vector<nlohmann::json>& saved);

}  // namespace d9d
