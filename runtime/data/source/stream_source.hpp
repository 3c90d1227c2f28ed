#pragma once
// A source of streams: its samples have no numbers and come one after another (sample_stream.hpp).

#include <functional>
#include <memory>

#include "runtime/data/sample_stream.hpp"

namespace d9d {

class StreamSource final : public SampleSource {
 public:
  using Open = std::function<std::shared_ptr<SampleStream>()>;
  // Opens one stream at once, for its length.
  explicit StreamSource(Open open) : open_(std::move(open)), sequence_length_(open_()->sequence_length()) {}
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return sequence_length_; }
  Sample at(std::uint64_t index) const override;  // an input error
  std::shared_ptr<SampleStream> open_stream() const override { return open_(); }
  bool is_stream() const override { return true; }

 private:
  const Open open_;
  const std::int64_t sequence_length_;
};

}  // namespace d9d
