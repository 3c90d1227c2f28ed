// Messages of the emulated NCCL.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "tests/runtime/devices/delayed/nccl/emulated_world.hpp"

namespace d9d::nccl {
namespace {

TEST_P(EmulatedRanks, ExchangeRowsAndPassMessagesRound) {
  EmulatedWorld world = world_of(2);

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    const Communicator::Splits to = rank == 0 ? Communicator::Splits{1, 2} : Communicator::Splits{0, 1};
    const Communicator::Splits from = rank == 0 ? Communicator::Splits{1, 0} : Communicator::Splits{2, 1};
    const at::Tensor rows =
        on(rank, at::arange((to[0] + to[1]) * 2, at::kFloat).view({-1, 2}).add(100.0 * rank));
    at::Tensor received = on(rank, at::zeros({from[0] + from[1], 2}));
    all.all_to_all(received, rows, from, to).wait();
    at::Tensor mine = on(rank, at::full({100}, rank * 1.0F));
    for (int hop = 0; hop < 3; ++hop) {
      at::Tensor coming = at::empty_like(mine);
      all.begin_exchange(mine, 1 - rank, coming, 1 - rank, 0);
      all.end_exchange(coming, 1 - rank, 0).wait();
      mine = coming;
    }

    EXPECT_EQ(received.cpu()[0][0].item<float>(), rank == 0 ? 0.0F : 2.0F);
    if (rank == 1) {
      EXPECT_EQ(received.cpu()[2][0].item<float>(), 100.0F);
    }
    EXPECT_EQ(mine[99].item<float>(), 1.0F - rank);
  });

  EXPECT_THAT(errors, testing::Each(""));
}

}  // namespace
}  // namespace d9d::nccl
