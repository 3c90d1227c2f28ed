// NCCL's communicators between delayed devices: late, in any order that events allow, and the bits of the CPU.
#include "runtime/comm/nccl/emulated.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/emulated_streams.hpp"
#include "runtime/comm/nccl/world.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/device/device.hpp"
#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// Ranks that are threads, rank n on delayed:n, each with two groups of all.
class EmulatedWorld {
 public:
  explicit EmulatedWorld(int size, milliseconds timeout = std::chrono::seconds(20)) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const int rank : ranks) {
      delayed_device(rank);
      delayed::machine(rank).reseed(7);
      worlds_.push_back(std::make_unique<World>(
          WorldOptions{&emulated_nccl(), rank, rank, timeout},
          [this](const Group& host) { return hub_.open(host, std::chrono::seconds(20)); }));
    }
    groups_.resize(ranks.size());
    run([&](int rank, Communicator&, Communicator&) {
      auto& mine = groups_[static_cast<std::size_t>(rank)];
      for (const char* const name : {"all", "more"})
        mine.push_back(worlds_[static_cast<std::size_t>(rank)]->open(NcclWorld::group(name, ranks, rank)));
    });
  }

  using Work = std::function<void(int rank, Communicator& all, Communicator& more)>;
  // On all ranks at once; by rank what they threw.
  std::vector<std::string> run(const Work& work) {
    std::vector<std::string> errors(groups_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          auto& mine = groups_[rank];
          static const auto none = std::unique_ptr<Communicator>();
          work(static_cast<int>(rank), mine.empty() ? *none : *mine[0], mine.empty() ? *none : *mine[1]);
        } catch (const std::exception&) {
          errors[rank] = describe_current_exception().what;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

 private:
  SharedMemoryHub hub_;
  std::vector<std::unique_ptr<World>> worlds_;
  std::vector<std::vector<std::unique_ptr<Communicator>>> groups_;
};

c10::Device place(int rank) {
  return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(rank)};
}

at::Tensor on(int rank, const at::Tensor& tensor) {
  return tensor.to(place(rank));
}

TEST(EmulatedNccl, SumsGathersAndTellsOnDelayedDevices) {
  EmulatedWorld world(3);

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({1000}, rank + 1.0F)),
               half = on(rank, at::full({3}, 0.1F, at::kBFloat16));
    at::Tensor block = on(rank, at::zeros({2})), whole = on(rank, at::zeros({3, 2}));
    at::Tensor told = on(rank, at::full({5}, rank, at::kInt));
    all.all_reduce(sum, ReduceOp::sum).wait();
    all.all_reduce(half, ReduceOp::max).wait();
    all.reduce_scatter(block, on(rank, at::arange(6, at::kFloat)), ReduceOp::sum).wait();
    all.all_gather(whole, on(rank, at::full({2}, rank * 1.0F))).wait();
    all.broadcast(told, 2).wait();

    EXPECT_EQ(sum[999].item<float>(), 6.0F);
    EXPECT_EQ(half[2].item<float>(), at::full({}, 0.1F, at::kBFloat16).item<float>());
    EXPECT_TRUE(at::equal(block.cpu(), at::arange(2 * rank, 2 * rank + 2, at::kFloat).mul(3)));
    EXPECT_TRUE(at::equal(whole.cpu().select(1, 1), at::arange(3, at::kFloat)));
    EXPECT_EQ(told[4].item<int>(), 2);
  });

  EXPECT_THAT(errors, testing::Each(""));
}

TEST(EmulatedNccl, ExchangesRowsAndPassesMessagesRound) {
  EmulatedWorld world(2);

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

// The stream of a communicator is not the caller's.
TEST(EmulatedNccl, ShowsAReadThatDoesNotWait) {
  EmulatedWorld world(2);

  const auto errors = world.run([&](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({10}, 1.0F));
    static_cast<void>(all.all_reduce(sum, ReduceOp::sum));
    try {
      sum.add(0);
    } catch (...) {
      all.wait();
      throw;
    }
  });

  EXPECT_THAT(errors, testing::Each(AllOf(HasSubstr("aten::add"), HasSubstr("ncclAllReduce"))));
}

TEST(EmulatedNccl, NamesARankThatLaunchesInAnotherOrder) {
  EmulatedWorld world(2, milliseconds(300));

  const auto errors = world.run([](int rank, Communicator& all, Communicator& more) {
    at::Tensor one = on(rank, at::full({10}, 1.0F)), other = on(rank, at::full({10}, 1.0F));
    Communicator& first = rank == 0 ? all : more;
    Communicator& second = rank == 0 ? more : all;
    first.all_reduce(one, ReduceOp::sum).wait();
    second.all_reduce(other, ReduceOp::sum).wait();
    one.cpu();  // ends when the communicator is ended
    first.check();
    other.cpu();
    second.check();
  });

  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("not done 300 ms after it could begin"),
                             HasSubstr("rank 1 launched all_reduce(Float, 10 elements) number 1 of group "
                                       "more[0,1] where rank 0 launched")));
}

TEST(EmulatedNccl, EndsWhatHangsAtTheDeadlineAndWhatNcclReports) {
  for (const auto kind : {EmulatedFault::Kind::hang, EmulatedFault::Kind::error}) {
    EmulatedWorld world(2, milliseconds(300));
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

}  // namespace
}  // namespace d9d::nccl
