#pragma once
// The batches of one data rank out of a sample source, as parcels in the tensor table. No torch in this
// header.

#include <functional>
#include <memory>
#include <mutex>

#include "runtime/data/batch_maths.hpp"
#include "runtime/rank/batch_feed.hpp"

namespace d9d {

class SampleSource;

// One source for all loaders of a process, made by whoever asks first (a text is tokenised once).
// Thread-safe.
class SharedSource {
 public:
  explicit SharedSource(std::function<std::shared_ptr<const SampleSource>()> make) : make_(std::move(make)) {}
  std::shared_ptr<const SampleSource> get();

 private:
  std::mutex mutex_;
  std::function<std::shared_ptr<const SampleSource>()> make_;
  std::shared_ptr<const SampleSource> source_;
};

// `start_sample`: the cursor of the resumed checkpoint, 0 for a fresh run. `table` outlives the feed.
std::unique_ptr<BatchFeed> make_source_feed(std::shared_ptr<const SampleSource> source,
                                            const BatchMaths& maths, int data_rank,
                                            std::uint64_t start_sample, TensorTable& table);

}  // namespace d9d
