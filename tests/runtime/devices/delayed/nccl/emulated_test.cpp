// What goes wrong between the emulated NCCL's ranks.
#include "runtime/devices/delayed/nccl/emulated.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include "tests/runtime/devices/delayed/nccl/emulated_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST_P(EmulatedRanks, EndWhatHangsAtTheDeadlineAndWhatNcclReports) {
  for (const auto kind : {EmulatedFault::Kind::hang, EmulatedFault::Kind::error}) {
    EmulatedWorld world = world_of(2, milliseconds(300));
    plant_fault(EmulatedFault{kind, 1, 3});

    const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
      at::Tensor sum = on(rank, at::full({10}, 1.0F));
      for (int i = 0; i < 4; ++i) all.all_reduce(sum, ReduceOp::sum).wait();
      sum.cpu();
      all.check();
    });

    EXPECT_THAT(errors[0], HasSubstr("of group all[0,1] (nccl)"));
    EXPECT_THAT(errors[1],
                HasSubstr(kind == EmulatedFault::Kind::hang ? "not done 300 ms" : "internal error"));
  }
  plant_fault({});
}

// NCCL's init ends in ncclInvalidUsage, or hangs.
TEST(EmulatedNccl, RefusesACommunicatorWithTwoRanksOnADevice) {
  const Api& api = emulated_nccl();
  UniqueId id{};
  ASSERT_EQ(api.unique_id(&id), success);
  Comm first = nullptr, second = nullptr;
  int result = success;

  ASSERT_EQ(api.use_device(3), success);
  ASSERT_EQ(api.init(&first, 2, id, 0), in_progress);
  ASSERT_EQ(api.async_error(first, &result), success);
  EXPECT_EQ(result, in_progress) << "the other one has not come";
  ASSERT_EQ(api.init(&second, 2, id, 1), in_progress);
  ASSERT_EQ(api.async_error(second, &result), success);

  EXPECT_STREQ(api.text_of(result), "invalid usage");
  EXPECT_THAT(api.last_error(second), HasSubstr("two of its ranks are on one device"));
  api.abort(first);
  api.abort(second);
  api.use_device(0);
}

INSTANTIATE_TEST_SUITE_P(Emulated, EmulatedRanks, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "of_one_process" : "of_several_processes");
});

}  // namespace
}  // namespace d9d::nccl
