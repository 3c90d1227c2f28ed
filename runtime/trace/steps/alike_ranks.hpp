#pragma once
// Groups the ranks of a recording that do the same work: replicas of the same stages, and ranks
// that share their matrices.

#include <map>
#include <string>
#include <utility>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

class AlikeRanks {
 public:
  explicit AlikeRanks(const Recording& recording);

  // Returns the lowest rank of the group of `rank`. A rank without stages is a group of its own.
  int first(int rank) const;
  // Returns a name for an actor's part on its rank that is equal on all ranks of the group: for
  // "collective/3.1" its position among the collectives of the rank.
  std::string part(int rank, const std::string& actor) const;

 private:
  std::map<int, int> first_;
  std::map<std::pair<int, std::string>, std::string> parts_;
};

}  // namespace d9d::trace
