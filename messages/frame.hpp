#pragma once
// A message as bytes: one flat, aligned array of words. Several threads may read it, each
// with its own reader.

#include <capnp/common.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace d9d {

class Frame {
 public:
  Frame() = default;
  explicit Frame(std::vector<capnp::word> words)
      : words_(std::make_shared<const std::vector<capnp::word>>(std::move(words))) {}

  // Copies bytes from outside the process. Throws Refused (decode.hpp) when they are empty, not a whole
  // number of words, or more than `bytes_max`.
  static Frame from_bytes(std::span<const std::byte> bytes, std::size_t bytes_max);

  bool empty() const { return !words_ || words_->empty(); }
  std::size_t size_bytes() const { return words_ ? words_->size() * sizeof(capnp::word) : 0; }
  const capnp::word* data() const { return words_ ? words_->data() : nullptr; }
  std::span<const std::byte> bytes() const;

  // When the frame came into this process, by this process's clock; 0 for a frame that was made here.
  std::int64_t arrived_ns() const { return arrived_ns_ == unstamped ? 0 : arrived_ns_; }
  // Sets that time. Only the first stamp counts, and only on a frame from outside.
  void stamp_arrival(std::int64_t now_ns) {
    if (arrived_ns_ == unstamped) arrived_ns_ = now_ns;
  }

  // The connection that brought the frame into this process; 0 for a frame that was made here.
  std::uint64_t connection() const { return connection_; }
  void stamp_connection(std::uint64_t number) { connection_ = number; }

 private:
  static constexpr std::int64_t unstamped = -1;

  std::shared_ptr<const std::vector<capnp::word>> words_;
  std::int64_t arrived_ns_ = 0;
  std::uint64_t connection_ = 0;
};

}  // namespace d9d
