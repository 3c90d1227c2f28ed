#include "runtime/data/source/buffer_sorted.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {

BufferSortedOrder::BufferSortedOrder(Options options, SortKey key) : options_(options), key_(std::move(key)) {
  D9D_REQUIRE(options.num_items > 0 && options.buffer_size > 0 && options.pack_size > 0,
              "{} items in buffers of {} and packs of {}, expected at least 1 of each", options.num_items,
              options.buffer_size, options.pack_size);
}

std::uint64_t BufferSortedOrder::item_at(std::uint64_t index) {
  const std::uint64_t epoch = index / options_.num_items;
  const std::uint64_t within = index % options_.num_items;
  const std::uint64_t buffer = within / options_.buffer_size;
  if (order_.empty() || epoch != epoch_ || buffer != buffer_) {
    order_ = make_order(epoch, buffer);
    epoch_ = epoch;
    buffer_ = buffer;
  }
  return order_[within % options_.buffer_size];
}

std::vector<std::uint64_t> BufferSortedOrder::make_order(std::uint64_t epoch, std::uint64_t buffer) const {
  const std::uint64_t begin = buffer * options_.buffer_size;
  const std::uint64_t count = std::min(options_.buffer_size, options_.num_items - begin);
  // Buffers are numbered through the epochs, so each has random numbers of its own.
  const std::uint64_t num_buffers = (options_.num_items - 1) / options_.buffer_size + 1;
  const std::uint64_t step = epoch * num_buffers + buffer;
  const RandomStream ties(options_.seed, "buffer sorted: ties", step);
  const RandomStream packs(options_.seed, "buffer sorted: packs", step);
  const RandomStream places(options_.seed, "buffer sorted: places", step);

  std::vector<std::tuple<std::int64_t, std::uint64_t, std::uint64_t>> sorted;  // key, tie, item
  sorted.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) sorted.emplace_back(key_(begin + i), ties.bits64(i), begin + i);
  std::ranges::sort(sorted);

  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>>
      mixed;  // pack's place, pack, place, item
  mixed.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t pack = i / options_.pack_size;
    mixed.emplace_back(packs.bits64(pack), pack, places.bits64(i), std::get<2>(sorted[i]));
  }
  std::ranges::sort(mixed);

  std::vector<std::uint64_t> order;
  order.reserve(count);
  for (const auto& entry : mixed) order.push_back(std::get<3>(entry));
  return order;
}

}  // namespace d9d
