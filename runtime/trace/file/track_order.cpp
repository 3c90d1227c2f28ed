#include "runtime/trace/file/track_order.hpp"

#include <algorithm>
#include <array>

namespace d9d::trace {
namespace {

// Of a rank first, then of a node. A name counts as the first of these that it begins with.
constexpr std::array<std::string_view, 21> order{"steps",
                                                 "trainer/",
                                                 "compute stage",
                                                 "compute optimizer",
                                                 "compute",
                                                 "device kernels",
                                                 "device ",
                                                 "rank_executor/",
                                                 "communication",
                                                 "gradients",
                                                 "tensor_lane/",
                                                 "step",
                                                 "metrics",
                                                 "collective/",
                                                 "loader/",
                                                 "metric_collector/",
                                                 "coordinator/",
                                                 "node",
                                                 "event_bus/",
                                                 "tracker/",
                                                 "checkpoint_writer/"};

constexpr int numbers = 1000, lanes = 100;

// The first number in the name, 0 without one.
int number_in(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  int number = 0;
  for (auto at = std::find_if(name.begin(), name.end(), is_digit); at != name.end() && is_digit(*at); ++at) {
    number = std::min(number * 10 + (*at - '0'), numbers - 1);
  }
  return number;
}

}  // namespace

int track_order(std::string_view name, int lane) {
  const auto found =
      std::find_if(order.begin(), order.end(), [&](auto key) { return name.starts_with(key); });
  const auto kind = static_cast<int>(found - order.begin());
  return (kind * numbers + number_in(name)) * lanes + std::min(lane, lanes - 1);
}

}  // namespace d9d::trace
