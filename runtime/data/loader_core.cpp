#include "runtime/data/loader_core.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

LoaderCore::LoaderCore(std::shared_ptr<const SampleSource> source, BatchMaths maths, std::int64_t data_rank,
                       std::uint64_t start, std::optional<std::uint64_t> end)
    : source_(std::move(source)), maths_(maths), data_rank_(data_rank), end_(end), position_(start) {
  D9D_CHECK(data_rank >= 0 && data_rank < maths.num_data_ranks, "data rank {} of {}", data_rank,
            maths.num_data_ranks);
}

std::optional<MicrobatchPack> LoaderCore::next() {
  const std::uint64_t step_end = position_ + static_cast<std::uint64_t>(maths_.global_batch_size);
  if (end_ && step_end > *end_) return std::nullopt;
  std::uint64_t index = maths_.first_sample(position_, data_rank_);
  MicrobatchPack pack;
  std::vector<Sample> samples(static_cast<std::size_t>(maths_.microbatch_size));
  for (std::int64_t microbatch = 0; microbatch < maths_.num_microbatches; ++microbatch) {
    for (Sample& sample : samples) sample = source_->at(index++);
    pack.push_back(make_microbatch(samples));
  }
  position_ = step_end;
  return pack;
}

}  // namespace d9d
