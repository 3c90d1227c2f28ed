// What a launch waits for, what it keeps, and how it fails.
#include "runtime/comm/nccl/channel.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/intrusive_ptr.h>
#include <gmock/gmock.h>

#include <thread>

#include "runtime/base/error.hpp"
#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(Channel, WaitsForWhatTheCallersStreamIsStillComputing) {
  NcclWorld world(2);
  std::vector<at::Tensor> sums;
  for (int rank = 0; rank < 2; ++rank) sums.push_back(at::ones({4}));
  world.fake().hold_compute(0);

  world.run([&](int rank) {
    world.all(rank).all_reduce(sums[static_cast<std::size_t>(rank)], ReduceOp::sum).wait();
  });
  sums[0].fill_(10);  // what the held stream would have computed by now
  world.fake().resume();
  world.run([&](int rank) {
    world.all(rank).wait();
    EXPECT_TRUE(world.fake().synchronize(rank));
  });

  EXPECT_EQ(sums[1][0].item<float>(), 11.0F);
}

TEST(Channel, KeepsNothingOfAThousandSends) {
  NcclWorld world(2);
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> sent;

  world.run([&](int rank) {
    for (int i = 0; i < 1000; ++i) {
      at::Tensor message = at::full({1000}, i * 1.0);
      if (rank == 0) sent.emplace_back(message.getIntrusivePtr());
      if (rank == 0) world.all(rank).send(message, 1);
      if (rank == 1) world.all(rank).receive(message, 0).wait();
    }
    world.all(rank).wait();
    ASSERT_TRUE(world.fake().synchronize(rank));
    world.all(rank).wait();  // looks at what is done
  });

  const auto is_alive = [](const auto& weak) { return !weak.expired(); };
  const auto kept = [&] { return std::any_of(sent.begin(), sent.end(), is_alive); };
  // The Watch may be the one that frees the last ones: ends when nothing is kept.
  while (kept()) std::this_thread::yield();
}

TEST(Channel, FinishesWhatWasLaunchedBeforeItCloses) {
  NcclWorld world(2);
  std::vector<at::Tensor> sums{at::ones({100}), at::ones({100})};

  world.run([&](int rank) {
    auto group = world.world(rank).open(NcclWorld::group("short", {0, 1}, rank));
    group->all_reduce(sums[static_cast<std::size_t>(rank)], ReduceOp::sum).wait();
    group.reset();
  });

  EXPECT_EQ(sums[0][99].item<float>(), 2.0F);
  EXPECT_EQ(sums[1][99].item<float>(), 2.0F);
}

TEST(Channel, NamesThePeerOfAMessageThatHangs) {
  NcclWorld world(2, milliseconds(300));

  world.run([&](int rank) {
    if (rank == 1) return;
    at::Tensor message = at::ones({10});
    world.all(0).receive(message, 1).wait();
    EXPECT_THAT(world.failure_after(0),
                AllOf(HasSubstr("environment: wait of group all[0,1] (nccl): receive(Float, 10 elements) "
                                "from rank 1: not done 300 ms after it could begin"),
                      HasSubstr("rank 1")));
  });
}

// As the emulated NCCL throws where order is missing.
TEST(Channel, WaitsForNoCallThatHasThrown) {
  FakeNccl fake;
  UniqueId id{};
  ASSERT_EQ(fake.api().unique_id(&id), success);
  Channel channel({.api = fake.api(),
                   .device = 0,
                   .group = {"alone[0]", {0}, 0, true},
                   .timeout = std::chrono::hours(1),
                   .witnesses = std::make_shared<Witnesses>(0)},
                  [&](Comm* comm) { return fake.api().init(comm, 1, id, 0); });

  EXPECT_THROW(channel.launch({"sum", "(float, 4 elements)", ""}, {at::ones({4})},
                              [](Comm, Stream) -> int { throw Error(ErrorKind::bug, "out of order"); }),
               Error);
  channel.close();

  EXPECT_THAT(NcclWorld::failure_of([&] { channel.check("alone[0]"); }), HasSubstr("out of order"));
}

TEST(Channel, FailsAllLaterCallsInTheSameWay) {
  NcclWorld world(2);
  world.all(0).abort("enough");
  at::Tensor tensor = at::zeros({2});

  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(NcclWorld::failure_of([&] { world.all(0).send(tensor, 1); }),
                HasSubstr("environment: send of group all[0,1] (nccl): aborted: enough"));
  }
  world.all(1).abort("enough");
}

// What one group's failure leaves: the others of the rank go on.
TEST(Channel, LeavesTheOtherGroupsAlone) {
  NcclWorld world(2);
  for (int rank = 0; rank < 2; ++rank) world.all(rank).abort("only this one");

  world.run([&](int rank) {
    sum_ones(world.more(rank));
    world.more(rank).wait();
    EXPECT_TRUE(world.fake().synchronize(rank));
  });
}

}  // namespace
}  // namespace d9d::nccl
