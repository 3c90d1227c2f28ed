#include "runtime/data/loading_rate.hpp"

#include <algorithm>

#include "runtime/data/read_microbatch.hpp"

namespace d9d {

LoadingRate loading_rate(const SampleSource& source, const BatchMaths& maths, const Collation* collation,
                         std::chrono::milliseconds least) {
  using Clock = std::chrono::steady_clock;
  LoadingRate rate;
  Clock::duration passed{};  // without the count below, which no loader makes
  for (std::int64_t number = 0; number == 0 || passed < least; ++number) {
    const std::int64_t step = number / maths.num_microbatches;
    const Clock::time_point begin = Clock::now();
    const TensorMap batch =
        read_microbatch(source, maths, 0, static_cast<std::uint64_t>(step * maths.global_batch_size),
                        number % maths.num_microbatches, collation);
    passed += Clock::now() - begin;
    const auto ids = batch.find("input_ids"), labels = batch.find("labels");
    const auto mask = batch.find("token_mask");
    if (mask != batch.end()) {
      rate.tokens += static_cast<std::uint64_t>(mask->second.sum().item<std::int64_t>());
    } else if (ids != batch.end()) {
      rate.tokens += static_cast<std::uint64_t>(ids->second.numel());
    }
    if (labels == batch.end() || labels->second.scalar_type() != at::kLong) continue;
    const at::Tensor flat = labels->second.contiguous();
    const auto* const first = flat.const_data_ptr<std::int64_t>();
    rate.counted +=
        static_cast<std::uint64_t>(flat.numel() - std::count(first, first + flat.numel(), ignored_label));
  }
  rate.seconds = std::chrono::duration<double>(passed).count();
  return rate;
}

}  // namespace d9d
