#pragma once
// A source of rollouts: its samples are made of texts that the model writes between steps (rollout_stream.hpp).

#include <functional>
#include <memory>

#include "runtime/data/rollout_stream.hpp"

namespace d9d {

class RolloutSource final : public SampleSource {
 public:
  using Open = std::function<std::shared_ptr<RolloutStream>()>;
  // Opens one stream at once, for its length.
  explicit RolloutSource(Open open) : open_(std::move(open)), sequence_length_(open_()->sequence_length()) {}
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return sequence_length_; }
  Sample at(std::uint64_t index) const override;  // an input error
  std::shared_ptr<RolloutStream> open_rollouts() const override { return open_(); }
  bool is_stream() const override { return true; }
  bool is_rollouts() const override { return true; }

 private:
  const Open open_;
  const std::int64_t sequence_length_;
};

}  // namespace d9d
