#include "runtime/data/source/order/buffer_sorted.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

// Small buffers are kept in numbers, since ranks and threads are at several of them: 16 MiB at most.
constexpr std::uint64_t small_buffers_kept = 64;
constexpr std::uint64_t samples_kept = 1 << 22;

std::uint64_t buffer_size_of(const BufferSorted::Options& options) {
  const auto [buffer, pack] = options.sizes;
  D9D_REQUIRE(buffer >= 1 && pack >= 1,
              "data.order.sorted: buffers of {} and packs of {}, expected at least 1", buffer, pack);
  D9D_REQUIRE(
      pack <= buffer,
      "data.order.sorted: packs of {} in buffers of {}, so that nothing is sorted; lower pack_size, or raise "
      "buffer_size",
      pack, buffer);
  D9D_CHECK(options.num_samples > 0, "an order of nothing");
  return static_cast<std::uint64_t>(buffer);
}

std::size_t kept_max_of(std::uint64_t buffer_size, std::uint64_t num_readers) {
  const std::uint64_t small = std::min(small_buffers_kept, samples_kept / buffer_size);
  return static_cast<std::size_t>(std::max(2 * num_readers + 2, small));
}

}  // namespace

BufferSorted::BufferSorted(const Options& options, SortKey key)
    : options_(options),
      key_(std::move(key)),
      buffers_((options.num_samples - 1) / buffer_size_of(options) + 1),
      kept_max_(kept_max_of(buffer_size_of(options), options.num_readers)) {}

std::uint64_t BufferSorted::at(std::uint64_t index) const {
  const std::uint64_t n = options_.num_samples, size = static_cast<std::uint64_t>(options_.sizes.buffer_size);
  const std::uint64_t epoch = index / n, within = index % n, buffer = within / size;
  const std::uint64_t begin = epoch * n + buffer * size, count = std::min(size, n - buffer * size);
  const auto order = order_of(epoch * buffers_ + buffer, begin, count);
  return begin + (*order)[within % size];
}

// Made under the lock: who asks meanwhile most likely asks for the same one.
std::shared_ptr<const BufferSorted::Order> BufferSorted::order_of(std::uint64_t number, std::uint64_t begin,
                                                                  std::uint64_t count) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, number, &Buffer::number);
  Buffer buffer;
  if (found != kept_.end()) {
    buffer = std::move(*found);
    kept_.erase(found);
  } else {
    buffer = {number, std::make_shared<const Order>(make_order(number, begin, count))};
    if (kept_.size() >= kept_max_) kept_.pop_back();
  }
  kept_.push_front(buffer);
  return buffer.order;
}

BufferSorted::Order BufferSorted::make_order(std::uint64_t number, std::uint64_t begin,
                                             std::uint64_t count) const {
  const RandomStream ties(options_.seed, "buffer sorted: ties", number);
  const RandomStream packs(options_.seed, "buffer sorted: packs", number);
  const RandomStream places(options_.seed, "buffer sorted: places", number);
  const auto pack_size = static_cast<std::uint64_t>(options_.sizes.pack_size);

  std::vector<std::tuple<std::int64_t, std::uint64_t, std::uint32_t>> sorted;  // key, tie, sample
  sorted.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    sorted.emplace_back(key_(begin + i), ties.bits64(i), static_cast<std::uint32_t>(i));
  std::ranges::sort(sorted);

  // The pack's place, the pack, the sample's place in it, the sample.
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>> mixed;
  mixed.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t pack = i / pack_size;
    mixed.emplace_back(packs.bits64(pack), pack, places.bits64(i), std::get<2>(sorted[i]));
  }
  std::ranges::sort(mixed);

  Order order;
  order.reserve(count);
  for (const auto& entry : mixed) order.push_back(std::get<3>(entry));
  return order;
}

}  // namespace d9d
