#include "runtime/data/pack.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {

TensorMap make_microbatch(std::span<const Sample> samples) {
  D9D_CHECK(!samples.empty(), "a microbatch without samples");
  const auto batch = static_cast<std::int64_t>(samples.size());
  const auto length = static_cast<std::int64_t>(samples[0].input_ids.size());
  const auto make = [&] { return at::empty({batch, length}, at::kLong); };
  TensorMap out{{"input_ids", make()}, {"labels", make()}, {"position_ids", make()}};
  const auto row = [&](const char* name, std::int64_t b) {
    return out.at(name).mutable_data_ptr<std::int64_t>() + b * length;
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    const Sample& sample = samples[static_cast<std::size_t>(b)];
    D9D_REQUIRE(static_cast<std::int64_t>(sample.input_ids.size()) == length &&
                    static_cast<std::int64_t>(sample.labels.size()) == length,
                "sample {} of the microbatch has {} inputs and {} labels, expected {} as the first", b,
                sample.input_ids.size(), sample.labels.size(), length);
    std::ranges::copy(sample.input_ids, row("input_ids", b));
    std::ranges::copy(sample.labels, row("labels", b));
    std::iota(row("position_ids", b), row("position_ids", b) + length, std::int64_t{0});
  }
  return out;
}

}  // namespace d9d
