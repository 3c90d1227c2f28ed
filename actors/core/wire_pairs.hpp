#pragma once
// Converts between an enum of ours and the enum of a message with the same meaning, by one
// table for both directions:
//   constexpr WirePairs failure_kinds{"Failed.kind",
//                                     std::array{std::pair{ErrorKind::bug, wire::Failed::Kind::BUG}, ...}};
//   failed.setKind(failure_kinds.to_wire(kind));
// Both directions throw Error(bug) for a value without a pair:
// the message is of another version, or the table lacks a line.

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

template <class Ours, class Wire, std::size_t N>
struct WirePairs {
  std::string_view field;  // of the message, for the error
  std::array<std::pair<Ours, Wire>, N> pairs;

  constexpr Wire to_wire(Ours value) const {
    for (const auto& [ours, wire] : pairs) {
      if (ours == value) return wire;
    }
    throw Error(ErrorKind::bug, fmt::format("{} has no value for {}", field, static_cast<int>(value)));
  }
  constexpr Ours from_wire(Wire value) const {
    for (const auto& [ours, wire] : pairs) {
      if (wire == value) return ours;
    }
    throw Error(ErrorKind::bug, fmt::format("{} is {}, which is not known", field, static_cast<int>(value)));
  }
};

template <class Ours, class Wire, std::size_t N>
WirePairs(std::string_view, std::array<std::pair<Ours, Wire>, N>) -> WirePairs<Ours, Wire, N>;

}  // namespace d9d
