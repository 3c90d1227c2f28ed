// debug.check_collectives: who differs is named before anything runs.
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include "runtime/base/log.hpp"
#include "runtime/base/log_place.hpp"
#include "tests/runtime/comm/world.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

CommWorldOptions checked(const std::string& backend, int size) {
  return {.backend = backend, .size = size, .checked = true};
}

// Of each rank, called by its stage in step 7.
std::vector<std::string> errors_of(CommWorldOptions options, const std::function<void(Communicator&)>& work) {
  CommWorld world(std::move(options));
  return world.run_and_collect([&](Communicator& group) {
    const log::Place place("rank_executor/" + std::to_string(group.rank()));
    const std::uint64_t step = 7;
    const log::StepOfPlace in_step(step);
    work(group);
  });
}

class Checked : public testing::TestWithParam<CommWorldOptions> {};
INSTANTIATE_TEST_SUITE_P(Backends, Checked,
                         testing::Values(checked("shared_memory", 2), checked("shared_memory", 4),
                                         checked("sockets", 2), checked("hybrid", 4)),
                         [](const auto& info) {
                           return info.param.backend + std::to_string(info.param.size);
                         });

TEST_P(Checked, NamesActorRankAndStepOfTheFirstThatCallsAnotherOperation) {
  const auto errors = errors_of(GetParam(), [](Communicator& group) {
    at::Tensor ones = at::ones({4});
    group.all_reduce(ones, ReduceOp::sum).wait();
    if (group.rank() != 1) return group.all_reduce(ones, ReduceOp::max).wait();
    group.broadcast(ones, 0).wait();
  });

  EXPECT_THAT(
      errors,
      Each(AllOf(
          HasSubstr("rank 100 (rank_executor/0, step 7) calls all_reduce(Float, 4 elements as [4], max)"),
          HasSubstr("rank 101 (rank_executor/1, step 7) calls broadcast(Float, 4 elements as [4], root 0)"),
          HasSubstr("number 1"))));
}

TEST_P(Checked, TellsShapesApartThatHaveEquallyManyElements) {
  const auto errors = errors_of(GetParam(), [](Communicator& group) {
    at::Tensor ones = group.rank() == 1 ? at::ones({2, 3}) : at::ones({3, 2});
    group.all_reduce(ones, ReduceOp::sum).wait();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("as [3, 2]"), HasSubstr("(rank_executor/1, step 7)"),
                                 HasSubstr("as [2, 3]"))));
}

TEST_P(Checked, NamesTheRanksWhoseRowsDoNotMatch) {
  const auto errors = errors_of(GetParam(), [](Communicator& group) {
    const auto size = static_cast<std::int64_t>(group.size());
    const std::vector<std::int64_t> one_each(static_cast<std::size_t>(size), 1);
    std::vector<std::int64_t> sent = one_each;
    if (group.rank() == 1) sent[0] = 2;
    at::Tensor output = at::ones({size, 3});
    group.all_to_all(output, at::ones({group.rank() == 1 ? size + 1 : size, 3}), one_each, sent).wait();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("rank 101 (rank_executor/1, step 7) sends 2 rows"),
                                 HasSubstr("rank 100 (rank_executor/0, step 7) awaits 1"))));
}

TEST(CheckedWait, SaysWhoWaitsForWhatWhenARankDoesNotCome) {
  CommWorldOptions options = checked("shared_memory", 2);
  options.timeout = std::chrono::milliseconds(50);

  const auto errors = errors_of(options, [](Communicator& group) {
    if (group.rank() == 0) group.barrier();
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 101"),
                               HasSubstr("rank 100 (rank_executor/0, step 7) was about to call barrier")));
}

}  // namespace
}  // namespace d9d
