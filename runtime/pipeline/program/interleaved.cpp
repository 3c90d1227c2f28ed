#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/builders.hpp"

namespace d9d {
namespace {

// The local stage of the k-th forward. A round runs its microbatches on one local stage after the other.
// Rounds are as even as possible and have at least `ranks` microbatches, if there are so many.
std::vector<int> local_stages(int ranks, int microbatches, int stages) {
  const int rounds = std::max(1, microbatches / ranks);
  std::vector<int> order;
  for (int round = 0; round < rounds; ++round) {
    const int size = microbatches / rounds + (round < microbatches % rounds ? 1 : 0);
    for (int local = 0; local < stages; ++local)
      order.insert(order.end(), static_cast<std::size_t>(size), local);
  }
  return order;
}

// Writes the program of one rank: the k-th forward and the k-th backward walk the rank's stages in rounds.
class InterleavedRank {
 public:
  InterleavedRank(int ranks, int rank, const std::vector<int>& local_stages, const OneFOneBSchedule& schedule)
      : ranks_(ranks),
        rank_(rank),
        local_stages_(local_stages),
        schedule_(schedule),
        next_forward_(static_cast<std::size_t>(schedule.num_stages_per_rank)),
        next_backward_(next_forward_.size()) {}

  RankProgram write(int warmup) {
    const int total = static_cast<int>(local_stages_.size());
    for (int k = 0; k < warmup; ++k) forward(k);
    for (int k = 0; k < total; ++k) {
      if (warmup + k < total) forward(warmup + k);
      backward(k);
    }
    while (!deferred_.empty()) oldest_weight();
    return std::move(program_);
  }

 private:
  void forward(int k) {
    const int local = local_stages_[static_cast<std::size_t>(k)];
    emit(ActionKind::forward, local, next_forward_[static_cast<std::size_t>(local)]++);
  }

  void backward(int k) {
    const int local = schedule_.num_stages_per_rank - 1 - local_stages_[static_cast<std::size_t>(k)];
    const int microbatch = next_backward_[static_cast<std::size_t>(local)]++;
    if (!schedule_.zero_bubble) return emit(ActionKind::backward, local, microbatch);
    emit(ActionKind::backward_input, local, microbatch);
    deferred_.push_back({ActionKind::backward_weight, rank_ + local * ranks_, microbatch});
    // Rank r keeps r W for the end, when it has nothing else to run: its last gradient still
    // travels through the r ranks before it.
    if (k >= rank_) oldest_weight();
  }

  void oldest_weight() {
    program_.push_back({{deferred_.front()}});
    deferred_.pop_front();
  }

  void emit(ActionKind kind, int local, int microbatch) {
    program_.push_back({{{kind, rank_ + local * ranks_, microbatch}}});
  }

  const int ranks_, rank_;
  const std::vector<int>& local_stages_;
  const OneFOneBSchedule& schedule_;
  std::vector<int> next_forward_, next_backward_;
  std::deque<Action> deferred_;
  RankProgram program_;
};

// The number of warm-up forwards per rank of distance to the last rank. With several stages per rank every
// textbook has two; with one stage only the deep form does.
int warmup_per_rank(const OneFOneBSchedule& schedule) {
  if (schedule.zero_bubble) return 1;
  return schedule.num_stages_per_rank > 1 || schedule.warmup == Warmup::deep ? 2 : 1;
}

}  // namespace

Program build_interleaved(int ranks, int microbatches, const OneFOneBSchedule& schedule) {
  const int stages = schedule.num_stages_per_rank;
  D9D_REQUIRE(ranks >= 1 && stages >= 1 && microbatches >= 1,
              "a pipeline of {} ranks, {} stages per rank and {} microbatches; each must be at least 1",
              ranks, stages, microbatches);
  const std::vector<int> order = local_stages(ranks, microbatches, stages);
  const auto first_round = static_cast<int>(std::find(order.begin(), order.end(), 1) - order.begin());
  Program program;
  for (int rank = 0; rank < ranks; ++rank) {
    const int depth = (stages - 1) * first_round + warmup_per_rank(schedule) * (ranks - 1 - rank);
    program.push_back(
        InterleavedRank(ranks, rank, order, schedule).write(std::min<int>(depth, std::ssize(order))));
  }
  return program;
}

}  // namespace d9d
