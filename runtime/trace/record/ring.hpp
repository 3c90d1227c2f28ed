#pragma once
// A flight recorder of spans: one thread writes, any thread reads, the oldest spans are overwritten. No
// locks. A ring of capacity c keeps the last c - 1 spans: the slot that the writer may be in is never read.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/trace/record/span.hpp"

namespace d9d::trace {

class SpanRing {
 public:
  // `capacity` is a power of two (else an input error). Memory is touched only as far as spans are written.
  explicit SpanRing(std::size_t capacity);
  SpanRing(const SpanRing&) = delete;
  SpanRing& operator=(const SpanRing&) = delete;

  // Writer's thread only; wait-free.
  void push(const Span& span) noexcept;
  // Writer's thread only: 1, 2, 3, ...
  std::uint64_t next_serial() noexcept { return ++serial_; }

  // Any thread. Appends, oldest first, the spans with index >= `from` that are still here, none of them torn.
  // Returns the index after the last one: pass it as the next `from`. `lost` grows by the number overwritten.
  std::uint64_t read(std::uint64_t from, std::vector<Span>& out, std::uint64_t& lost) const;

  std::size_t capacity() const { return capacity_; }

 private:
  static constexpr std::size_t words_per_span = sizeof(Span) / sizeof(std::uint64_t);
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  Span load(std::uint64_t index) const noexcept;

  const std::size_t capacity_;
  const std::unique_ptr<std::uint64_t[], Free> words_;
  std::uint64_t serial_ = 0;
  std::atomic<std::uint64_t> head_{0};  // index of the next span to be written
};

}  // namespace d9d::trace
