#include "runtime/data/source/rollout_source.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

Sample RolloutSource::at(std::uint64_t index) const {
  throw Error(
      ErrorKind::input,
      fmt::format(
          "its samples are made of texts that the model writes while it trains: there is no sample {}",
          index));
}

}  // namespace d9d
