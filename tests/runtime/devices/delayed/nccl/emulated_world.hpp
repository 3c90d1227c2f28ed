#pragma once
// Ranks on delayed devices whose communicators are those of the emulated NCCL.

#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/world.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/nccl/emulated.hpp"
#include "runtime/devices/delayed/nccl/emulated_streams.hpp"

namespace d9d::nccl {

// Ranks that are threads, rank n on delayed:n, each with two groups of all. `one_process`: or as if each had a process.
class EmulatedWorld {
 public:
  explicit EmulatedWorld(int size, std::chrono::milliseconds timeout = std::chrono::seconds(20),
                         bool one_process = true) {
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
    on_all([&](std::size_t rank) {
      for (const char* const name : {"all", "more"}) {
        groups_[rank].push_back(worlds_[rank]->open({fmt::format("{}[{}]", name, fmt::join(ranks, ",")),
                                                     ranks, static_cast<int>(rank), one_process}));
        groups_[rank].back()->connect();
      }
    });
  }

  using Work = std::function<void(int rank, Communicator& all, Communicator& more)>;
  // As if the rank's process were killed.
  void lose(int rank) { groups_[static_cast<std::size_t>(rank)].clear(); }
  // On all ranks at once; by rank what they threw.
  std::vector<std::string> run(const Work& work) {
    return on_all(
        [&](std::size_t rank) { work(static_cast<int>(rank), *groups_[rank][0], *groups_[rank][1]); });
  }

 private:
  std::vector<std::string> on_all(const std::function<void(std::size_t rank)>& work) const {
    std::vector<std::string> errors(groups_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          work(rank);
        } catch (const std::exception&) {
          errors[rank] = describe_current_exception().what;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  SharedMemoryHub hub_;
  std::vector<std::unique_ptr<World>> worlds_;
  std::vector<std::vector<std::unique_ptr<Communicator>>> groups_;
};

// By the parameter the ranks are of one process, or as if each had its own.
class EmulatedRanks : public testing::TestWithParam<bool> {
 protected:
  static EmulatedWorld world_of(int size, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    return EmulatedWorld(size, timeout, GetParam());
  }
};

inline c10::Device place(int rank) {
  return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(rank)};
}

inline at::Tensor on(int rank, const at::Tensor& tensor) {
  return tensor.to(place(rank));
}

}  // namespace d9d::nccl
