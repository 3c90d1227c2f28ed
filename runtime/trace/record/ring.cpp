#include "runtime/trace/record/ring.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

// calloc of this size gives untouched zero pages, so an idle thread's ring costs no resident memory.
std::uint64_t* zeroed_words(std::size_t capacity, std::size_t words_per_span) {
  D9D_REQUIRE(std::has_single_bit(capacity), "a span ring of {} spans: give a power of two", capacity);
  auto* words = static_cast<std::uint64_t*>(std::calloc(capacity * words_per_span, sizeof(std::uint64_t)));
  if (words == nullptr) throw std::bad_alloc();
  return words;
}

}  // namespace

SpanRing::SpanRing(std::size_t capacity)
    : capacity_(capacity), words_(zeroed_words(capacity, words_per_span)) {}

// Why no sequence number per slot is needed: a reader that meets a word of
// span k sees (release, acquire) that the head had reached k before, and
// so throws away index k - capacity, whose slot k is being written to.
void SpanRing::push(const Span& span) noexcept {
  const std::uint64_t index = head_.load(std::memory_order_relaxed);
  std::array<std::uint64_t, words_per_span> source;
  std::memcpy(source.data(), &span, sizeof(span));
  std::uint64_t* slot = words_.get() + (index & (capacity_ - 1)) * words_per_span;
  for (std::size_t i = 0; i < words_per_span; ++i) {
    std::atomic_ref(slot[i]).store(source[i], std::memory_order_release);
  }
  head_.store(index + 1, std::memory_order_release);
}

Span SpanRing::load(std::uint64_t index) const noexcept {
  std::array<std::uint64_t, words_per_span> copy{};
  std::uint64_t* slot = words_.get() + (index & (capacity_ - 1)) * words_per_span;
  for (std::size_t i = 0; i < words_per_span; ++i) {
    copy[i] = std::atomic_ref(slot[i]).load(std::memory_order_acquire);
  }
  return std::bit_cast<Span>(copy);
}

std::uint64_t SpanRing::read(std::uint64_t from, std::vector<Span>& out, std::uint64_t& lost) const {
  const auto oldest_whole = [this](std::uint64_t head) {
    return head < capacity_ ? 0 : head - capacity_ + 1;
  };
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  const std::uint64_t begin = std::min(std::max(from, oldest_whole(head)), head);
  const std::size_t before = out.size();
  for (std::uint64_t index = begin; index < head; ++index) out.push_back(load(index));

  // The writer went on during the copy: the spans that it may have overwritten meanwhile are torn.
  const std::uint64_t still_whole = oldest_whole(head_.load(std::memory_order_acquire));
  const std::uint64_t torn = std::clamp(still_whole, begin, head) - begin;
  out.erase(out.begin() + before, out.begin() + before + torn);
  lost += begin + torn - std::min(from, begin);
  return head;
}

}  // namespace d9d::trace
