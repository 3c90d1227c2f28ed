#include "runtime/comm/decorators/traced.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "tests/runtime/comm/world.hpp"

namespace d9d {
namespace {

// What rank 0 tells of, as "name bytes".
class Told {
 public:
  void traced(CommWorld& world, const std::function<void(Communicator&)>& work) {
    world.run([&](Communicator& group) {
      if (group.rank() != 0) return work(group);
      const std::shared_ptr<Communicator> inner(&group, [](Communicator*) {});
      work(*make_traced(inner, [&](const auto& name, std::uint64_t bytes, const auto& call) {
        call();
        calls.push_back(name + " " + std::to_string(bytes));
      }));
    });
  }
  std::vector<std::string> calls;
};

TEST(Traced, TellsOperationGroupAndBytesAndDoesTheWork) {
  CommWorld world({"shared_memory", 2});
  Told told;

  told.traced(world, [](Communicator& group) {
    at::Tensor one = at::full({4}, group.rank() + 1.0F), two = at::zeros({8});
    group.all_gather(two, one).wait();
    group.all_reduce(one, ReduceOp::sum).wait();
    group.all_to_all(two, at::full({4, 2}, 1.0F).view({8}), {4, 4}, {4, 4}).wait();
    group.barrier();
    EXPECT_EQ(one[3].item<float>(), 3);
    EXPECT_EQ(two[7].item<float>(), 1);
  });

  EXPECT_THAT(told.calls, testing::ElementsAre("all_gather test[all] 32", "all_reduce test[all] 16",
                                               "all_to_all test[all] 32", "barrier test[all] 0"));
}

TEST(Traced, TellsOfReceivingAndNotOfSending) {
  CommWorld world({"shared_memory", 2});
  Told told;

  told.traced(world, [](Communicator& group) {
    at::Tensor tensor = at::full({3}, 5.0F), got = at::zeros({3});
    group.send(tensor, 1 - group.rank(), 7);
    group.receive(got, 1 - group.rank(), 7).wait();
    EXPECT_EQ(got[2].item<float>(), 5);
  });

  EXPECT_THAT(told.calls, testing::ElementsAre("receive test[all] 12"));
}

}  // namespace
}  // namespace d9d
