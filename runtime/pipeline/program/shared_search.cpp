#include "runtime/pipeline/program/shared_search.hpp"

namespace d9d {
namespace {

// All numbers on which the result depends: the key of equal problems.
std::vector<double> numbers_of(const AutoProblem& problem) {
  const Topology& topology = problem.topology;
  const CostModel& costs = problem.costs;
  std::vector<double> numbers{static_cast<double>(topology.kind()),
                              static_cast<double>(topology.num_ranks()),
                              static_cast<double>(topology.num_stages()),
                              static_cast<double>(problem.microbatches),
                              static_cast<double>(problem.held_max),
                              costs.transfer,
                              costs.overhead,
                              costs.overlap.value_or(-1)};
  for (const StageCosts& stage : costs.stages) {
    numbers.insert(numbers.end(),
                   {stage.forward, stage.backward_input, stage.backward_weight, stage.backward()});
  }
  numbers.insert(numbers.end(), costs.transfers.begin(), costs.transfers.end());
  return numbers;
}

}  // namespace

SharedSearch::Found SharedSearch::find(const AutoProblem& problem) {
  std::promise<Found> promise;
  std::shared_future<Found> found;
  {
    const std::lock_guard lock(mutex_);
    auto& search = searches_[numbers_of(problem)];
    if (search.valid()) {
      found = search;
    } else {
      search = promise.get_future().share();
    }
  }
  // Searches, or waits for another rank's search, without the lock, so that other problems are not held up.
  if (found.valid()) return found.get();
  try {
    auto choice = std::make_shared<const AutoChoice>(search_schedule(problem));
    promise.set_value(choice);
    return choice;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

}  // namespace d9d
