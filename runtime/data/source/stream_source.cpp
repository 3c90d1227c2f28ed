#include "runtime/data/source/stream_source.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

Sample StreamSource::at(std::uint64_t index) const {
  throw Error(
      ErrorKind::input,
      fmt::format("it is a stream, whose samples come one after another: there is no sample {}", index));
}

Sample RolloutSource::at(std::uint64_t index) const {
  throw Error(
      ErrorKind::input,
      fmt::format(
          "its samples are made of texts that the model writes while it trains: there is no sample {}",
          index));
}

}  // namespace d9d
