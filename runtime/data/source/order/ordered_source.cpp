#include "runtime/data/source/order/ordered_source.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::uint64_t samples_in(const SampleSource& source) {
  const auto samples = source.num_samples();
  D9D_REQUIRE(
      samples && *samples > 0,
      "data.order: the source has no end, and an order is one of the samples of an epoch; leave it out");
  return *samples;
}

}  // namespace

OrderedSource::OrderedSource(std::shared_ptr<const SampleSource> source, const SampleOrder& order,
                             std::uint64_t seed)
    : SourceOver(std::move(source)), num_samples_(samples_in(*source_)) {
  if (order.shards) shards_.emplace(num_samples_, *order.shards);
  if (!order.sorted) return;
  D9D_REQUIRE(
      source_->sort_key(0).has_value(),
      "data.order.sorted: the samples of this source all have one length, so there is nothing to sort by; "
      "leave it out, or have samples of several lengths (samples: document, source: prompts, or a source of "
      "your own with sort_key())");
  const std::uint64_t readers = order.shards ? static_cast<std::uint64_t>(order.shards->count) : 1;
  sorted_.emplace(
      BufferSorted::Options{
          .num_samples = num_samples_, .sizes = *order.sorted, .seed = seed, .num_readers = readers},
      [&source = *source_](std::uint64_t index) { return source.sort_key(index).value_or(0); });
}

std::uint64_t OrderedSource::index_of(std::uint64_t index) const {
  if (shards_) {
    const std::uint64_t within = index % num_samples_;
    index = index - within + shards_->at(within);
  }
  return sorted_ ? sorted_->at(index) : index;
}

std::shared_ptr<const SampleSource> in_order(std::shared_ptr<const SampleSource> source,
                                             const SampleOrder& order, std::uint64_t seed) {
  if (!order.sorted && !order.shards) return source;
  return std::make_shared<OrderedSource>(std::move(source), order, seed);
}

}  // namespace d9d
