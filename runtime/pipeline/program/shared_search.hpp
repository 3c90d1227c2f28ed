#pragma once
// The searches of schedule `auto` that the ranks of a process share. All ranks of a job get the same costs, so they
// look for the same program: the first one searches, the others wait for what it finds.

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

  // Thread-safe. Equal problems are searched once. Throws as search_schedule() does, for everyone who asked.
  Found find(const AutoProblem& problem);

 private:
  std::mutex mutex_;
  std::map<std::vector<double>, std::shared_future<Found>> searches_;  // by the numbers of the problem
};

}  // namespace d9d
