#include "runtime/rank/source_feed.hpp"

#include "runtime/data/loader_core.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

class SourceFeed final : public BatchFeed {
 public:
  SourceFeed(std::shared_ptr<const SampleSource> source, const BatchMaths& maths, int data_rank,
             std::uint64_t start_sample, TensorTable& table)
      : core_(std::move(source), maths, data_rank, start_sample), table_(table) {}

  std::optional<StepBatch> load(std::uint64_t /*step*/) override {
    std::optional<MicrobatchPack> pack = core_.next();
    if (!pack) return std::nullopt;
    const auto microbatches = static_cast<std::uint32_t>(pack->size());
    return StepBatch{table_.put(std::make_unique<PackParcel>(std::move(*pack))), microbatches,
                     core_.position()};
  }

 private:
  LoaderCore core_;
  TensorTable& table_;
};

}  // namespace

std::shared_ptr<const SampleSource> SharedSource::get() {
  const std::lock_guard lock(mutex_);
  if (!source_) source_ = make_();
  return source_;
}

std::unique_ptr<BatchFeed> make_source_feed(std::shared_ptr<const SampleSource> source,
                                            const BatchMaths& maths, int data_rank,
                                            std::uint64_t start_sample, TensorTable& table) {
  return std::make_unique<SourceFeed>(std::move(source), maths, data_rank, start_sample, table);
}

}  // namespace d9d
