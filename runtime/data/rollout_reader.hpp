#pragma once
// Reads a stream of rollouts for the steps of one rank: asks for the prompts of each step, keeps the texts that came
// and are not used up, and has the stream make samples of them.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/rollout_stream.hpp"

namespace d9d {

class RolloutReader {
 public:
  static constexpr std::size_t waiting_tokens_max = std::size_t{1} << 19;
  // `first_step`: of this start. `states`: of all data replicas of a checkpoint; empty: begins anew. Texts that are not
  // used up are dealt out anew, where the number of replicas is another. Input errors: a checkpoint of another lag, or
  // whose texts are for another number of samples.
  RolloutReader(std::shared_ptr<RolloutStream> stream, const StreamPlace& place, std::int64_t samples,
                std::uint64_t first_step, const std::vector<nlohmann::json>& states);

  const RolloutOptions& options() const { return options_; }
  // The last step whose prompts were asked for, and the last one whose texts are here.
  std::uint64_t asked() const { return read_ + steps_.size(); }
  std::uint64_t written() const { return read_ + written_; }
  // Prompts of the step after asked(). `first`: of this replica, as RolloutStep says.
  std::vector<Rollout> ask(std::uint64_t first);
  // The texts of the step after written(), in the order of its prompts.
  void write(std::vector<WrittenText> texts);
  // Makes the samples of the next step, whose texts are here.
  void read_step();
  // Returns the next samples of the step that was read last.
  std::vector<Sample> take(std::size_t count);
  // JSON for states_of_streams(): to go on after the step that was read last. Complete when the texts of `lag` steps
  // after it are here. Input error for more than waiting_tokens_max tokens in them.
  std::string state() const;

 private:
  struct Pending {
    RolloutStep step;
    std::vector<Rollout> texts;
  };
  void load(const std::vector<nlohmann::json>& states);
  void load_pending(std::size_t index, const std::vector<nlohmann::json>& states);

  const std::shared_ptr<RolloutStream> stream_;
  const StreamPlace place_;
  const std::int64_t samples_;  // of this replica in a step
  const RolloutOptions options_;
  std::uint64_t read_;         // the last step whose samples were made
  std::deque<Pending> steps_;  // that follow it; the first `written_` have texts
  std::size_t written_ = 0;
  std::vector<Sample> step_;
  std::size_t taken_ = 0;
  nlohmann::json state_;  // of the stream, after read_
};

}  // namespace d9d
