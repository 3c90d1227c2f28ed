#pragma once
// Sources whose samples have no numbers: they come one after another (sample_stream.hpp), or are made of texts that the
// model writes between steps (rollout_stream.hpp).

#include <functional>
#include <memory>

#include "runtime/data/rollout_stream.hpp"

namespace d9d {

template <class Stream>
class SourceOfStreams : public SampleSource {
 public:
  using Open = std::function<std::shared_ptr<Stream>()>;
  // Opens one stream at once, for its length.
  explicit SourceOfStreams(Open open)
      : open_(std::move(open)), sequence_length_(open_()->sequence_length()) {}
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return sequence_length_; }
  bool is_stream() const override { return true; }

 protected:
  const Open open_;

 private:
  const std::int64_t sequence_length_;
};

class StreamSource final : public SourceOfStreams<SampleStream> {
 public:
  using SourceOfStreams::SourceOfStreams;
  Sample at(std::uint64_t index) const override;  // an input error
  std::shared_ptr<SampleStream> open_stream() const override { return open_(); }
};

class RolloutSource final : public SourceOfStreams<RolloutStream> {
 public:
  using SourceOfStreams::SourceOfStreams;
  Sample at(std::uint64_t index) const override;  // an input error
  std::shared_ptr<RolloutStream> open_rollouts() const override { return open_(); }
  bool is_rollouts() const override { return true; }
};

}  // namespace d9d
