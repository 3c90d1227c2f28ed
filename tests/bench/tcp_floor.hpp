#pragma once
// What the machine itself takes for a round trip of `bytes` over a loopback TCP socket with TCP_NODELAY and
// blocking calls, between two threads. Microseconds, one per round.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace d9d {

std::vector<double> tcp_floor_us(std::uint64_t rounds, std::size_t bytes);

}  // namespace d9d
