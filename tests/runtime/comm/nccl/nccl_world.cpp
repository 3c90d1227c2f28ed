#include "tests/runtime/comm/nccl/nccl_world.hpp"

#include <ATen/ops/ones.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <numeric>

#include "runtime/base/error.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d::nccl {

Group NcclWorld::group(const std::string& name, const std::vector<int>& ranks, int rank) {
  Group group{fmt::format("{}[{}]", name, fmt::join(ranks, ",")), ranks, 0, true};
  group.index = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  return group;
}

NcclWorld::NcclWorld(int size, std::chrono::milliseconds timeout, std::chrono::milliseconds opening)
    : size_(size), worlds_(size), all_(size), more_(size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto openings = std::make_shared<Openings>();
  run([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    worlds_[at] =
        std::make_unique<World>(WorldOptions{&fake_.api(), rank, rank, opening, openings},
                                [&, opening](const Group& host) { return hub_.open(host, opening); });
    all_[at] = worlds_[at]->open(group("all", ranks, rank));
    more_[at] = worlds_[at]->open(group("more", ranks, rank));
    for (Communicator* const group : {all_[at].get(), more_[at].get()}) {
      group->connect();
      group->set_timeout(timeout);
    }
  });
}

NcclWorld::~NcclWorld() {
  fake_.resume();
  run([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    all_[at].reset();
    more_[at].reset();
    worlds_[at].reset();
  });
}

std::vector<std::string> NcclWorld::run_and_collect(const std::function<void(int)>& work) {
  std::vector<std::string> errors(static_cast<std::size_t>(size_));
  test::in_threads(size_, [&](int rank) {
    try {
      work(rank);
    } catch (const std::exception&) {
      const Caught caught = describe_current_exception();
      errors[static_cast<std::size_t>(rank)] = std::string(name_of(caught.kind)) + ": " + caught.what;
    }
  });
  return errors;
}

void NcclWorld::run(const std::function<void(int)>& work) {
  for (const std::string& error : run_and_collect(work)) EXPECT_EQ(error, "");
}

std::string NcclWorld::failure_of(const std::function<void()>& call) {
  std::mutex mutex;
  std::condition_variable pause;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(name_of(error.kind())) + ": " + error.what();
    }
    std::unique_lock lock(mutex);
    pause.wait_for(lock, std::chrono::milliseconds(5));
  }
  return "no failure";
}

void sum_ones(Communicator& group) {
  at::Tensor tensor = at::ones({1000});
  group.all_reduce(tensor, ReduceOp::sum).wait();
}

}  // namespace d9d::nccl
