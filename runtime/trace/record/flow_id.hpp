#pragma once
// The number that joins the span which sent a message with the span which handled it; unique in the job.
//   a node that knows its index   [node 16][thread 12][serial 36], node below 2^15
//   before the job has formed     [1][random 35][thread 12][serial 16]: no two processes draw the same

#include <cstdint>
#include <optional>

namespace d9d::trace {

inline constexpr int unknown_node = -1;
inline constexpr int num_nodes_max = 1 << 15;

namespace detail {
inline constexpr int flow_thread_bits = 12;
inline constexpr std::uint64_t flow_before_forming = 1ULL << 63;
}  // namespace detail

// Returns the common prefix of a process's flow ids. `random` is used while the node is not known.
constexpr std::uint64_t flow_prefix(int node, std::uint64_t random) {
  if (node != unknown_node) return static_cast<std::uint64_t>(node) << 48;
  return detail::flow_before_forming | (random & 0x7FFFFFFFFULL) << 28;
}

// Threads and serials count from 1, so that no flow id is 0.
constexpr std::uint64_t flow_id(std::uint64_t prefix, std::uint64_t thread, std::uint64_t serial) {
  const int serial_bits = (prefix & detail::flow_before_forming) != 0 ? 16 : 36;
  const auto low = [](std::uint64_t value, int bits) { return value & ((1ULL << bits) - 1); };
  return prefix | low(thread, detail::flow_thread_bits) << serial_bits | low(serial, serial_bits);
}

// The node that drew a flow id; nothing for one that was drawn before the job had formed.
constexpr std::optional<int> node_of_flow(std::uint64_t flow) {
  if ((flow & detail::flow_before_forming) != 0) return std::nullopt;
  return static_cast<int>(flow >> 48);
}

}  // namespace d9d::trace
