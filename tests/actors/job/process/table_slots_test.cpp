#include "actors/job/process/table_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "actors/notes/evaluation_run.hpp"

namespace d9d {
namespace {

// A stage in an evaluation whose Loader is as fast as it may be.
class Stage {
 public:
  explicit Stage(std::uint64_t ahead) : run_({.batches = 40, .due = {}, .ahead = ahead}, actions()) {
    run_.start(1, 0);
    serve();
  }
  // Gives it what it has asked for.
  void serve() {
    while (asked_ > 0) {
      --asked_;
      ++inputs_;
      run_.loaded({.step = ++loaded_});
    }
    inputs_peak_ = std::max(inputs_peak_, inputs_);
  }
  bool compute() {
    if (computed_ == begun_) return false;
    const std::uint64_t number = ++computed_;
    --inputs_;
    run_.computed(number);
    serve();
    return true;
  }
  void reduced() {
    run_.reduced({}, false);
    serve();
  }

  std::uint64_t computed() const { return computed_; }
  std::size_t inputs_peak() const { return inputs_peak_; }

 private:
  EvaluationRun::Actions actions() {
    return {.load = [this](std::uint64_t, std::uint64_t count) { asked_ += count; },
            .compute = [this](std::uint64_t number, const LoadedBatch&) { begun_ = number; }};
  }

  std::uint64_t asked_ = 0, loaded_ = 0, begun_ = 0, computed_ = 0;
  std::size_t inputs_ = 0, inputs_peak_ = 0;
  EvaluationRun run_;
};

// The most parcels of a rank in an evaluation over so many stages: all of them stand still but the first.
std::size_t peak_in_evaluation(const TableUse& use) {
  Stage first(*use.evaluation_ahead), last(*use.evaluation_ahead);
  std::size_t between = 0;
  for (int batch = 0; batch < 30; ++batch) {
    while (first.compute()) between = std::max<std::size_t>(between, first.computed() - last.computed());
    last.compute();
    first.reduced();
    last.reduced();
  }
  EXPECT_EQ(last.computed(), 30U);
  const std::size_t trained = (use.prefetch_steps + 1) * use.microbatches;  // of the steps that follow
  // What has come lies there; what a stage in the middle has made may wait for the lane besides.
  const std::size_t activations = 2 * between * use.microbatches * use.stages;
  return trained + std::max(first.inputs_peak(), last.inputs_peak()) * use.microbatches + activations;
}

TEST(TableSlots, CoverAnEvaluationBesideTheStepsLoadedAhead) {
  for (const std::size_t stages_of_all : {1U, 2U, 4U, 8U})
    for (const std::size_t microbatches : {1U, 2U, 5U})
      for (const std::size_t stages : {1U, 2U})
        for (const std::size_t prefetch : {0U, 1U, 3U}) {
          const TableUse use{microbatches, stages, prefetch, stages_of_all};
          EXPECT_GE(table_slots_of_a_rank(use), peak_in_evaluation(use))
              << stages_of_all << " stages, " << microbatches << " microbatches, " << prefetch << " ahead";
        }
}

// Two microbatches over two stages: 14 slots were too few for 4 + 6 inputs and 12 activations.
TEST(TableSlots, AreMoreWhereTheJobEvaluates) {
  EXPECT_EQ(table_slots_of_a_rank({.microbatches = 2}), 14U);
  EXPECT_EQ(table_slots_of_a_rank({.microbatches = 2, .evaluation_ahead = 2}), 24U);
  EXPECT_GT(peak_in_evaluation({.microbatches = 2, .evaluation_ahead = 2}), 14U);
}

}  // namespace
}  // namespace d9d
