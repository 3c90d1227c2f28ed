#pragma once
// Shares the searches of schedule `auto` between the ranks of a process. All ranks of a job have the same
// costs, so they search for the same program: the first rank searches, the others wait for its result.

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/pipeline/program/auto_schedule.hpp"

namespace d9d {

class SharedSearch {
 public:
  using Found = std::shared_ptr<const AutoChoice>;

  // Returns the result of search_schedule(), which runs once for equal problems. Every caller
  // gets its error, too. Any thread.
  Found find(const AutoProblem& problem);

 private:
  std::mutex mutex_;
  std::map<std::vector<double>, std::shared_future<Found>> searches_;  // by the numbers of the problem
};

}  // namespace d9d
