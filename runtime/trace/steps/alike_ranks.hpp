#pragma once
// Ranks of a recording that do the same work: replicas of the same stages, and ranks that share their matrices.

#include <map>
#include <string>
#include <utility>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

class AlikeRanks {
 public:
  explicit AlikeRanks(const Recording& recording);

  // The lowest of those alike; a rank without stages is alike to itself.
  int first(int rank) const;
  // What an actor is on its rank, equal for the same one of a rank alike: of "collective/3.1" its place among the
  // collectives of the rank.
  std::string part(int rank, const std::string& actor) const;

 private:
  std::map<int, int> first_;
  std::map<std::pair<int, std::string>, std::string> parts_;
};

}  // namespace d9d::trace
