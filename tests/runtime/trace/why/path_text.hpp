#pragma once
// A critical path as lines, and what is true of each.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/trace/why/critical_path.hpp"

namespace d9d::trace {

// "compute 1 compute stage 0 0F0 300": kind, rank, track, name, microseconds.
inline std::vector<std::string> texts(const CriticalPath& path) {
  std::vector<std::string> all;
  for (const PathPart& part : path.parts)
    all.push_back(fmt::format("{} {} {} {} {}", name_of(part.kind), part.rank, part.actor, part.what,
                              part.length() / 1000));
  return all;
}

inline void expect_whole(const CriticalPath& path) {
  ASSERT_FALSE(path.parts.empty());
  EXPECT_EQ(path.parts.front().start_ns, path.start_ns);
  EXPECT_EQ(path.parts.back().end_ns, path.end_ns);
  for (std::size_t i = 1; i < path.parts.size(); ++i)
    EXPECT_EQ(path.parts[i].start_ns, path.parts[i - 1].end_ns) << "a gap before part " << i;
}

}  // namespace d9d::trace
