#pragma once
// Ranks that are threads, each with a device of FakeNccl.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/world.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "tests/runtime/comm/nccl/fake_nccl.hpp"

namespace d9d::nccl {

class NcclWorld {
 public:
  // `opening`: how long ranks wait for each other to open a group.
  explicit NcclWorld(int size, std::chrono::milliseconds timeout = std::chrono::seconds(20),
                     std::chrono::milliseconds opening = std::chrono::seconds(20));
  ~NcclWorld();

  int size() const { return size_; }
  FakeNccl& fake() { return fake_; }
  // Of the rank, connected: "all[0,1]", "more[0,1]".
  Communicator& all(int rank) { return *all_[static_cast<std::size_t>(rank)]; }
  Communicator& more(int rank) { return *more_[static_cast<std::size_t>(rank)]; }
  World& world(int rank) { return *worlds_[static_cast<std::size_t>(rank)]; }
  static Group group(const std::string& name, const std::vector<int>& ranks, int rank);

  // On all ranks at once. The errors by rank, "" where all went well.
  std::vector<std::string> run_and_collect(const std::function<void(int)>& work);
  void run(const std::function<void(int)>& work);  // an error is a failure of the test
  // The caller's stream has done all; waits until the watch has found the rank's failure, which `call` gives.
  static std::string failure_of(const std::function<void()>& call);
  std::string failure_after(int rank) {
    return failure_of([&] { all(rank).wait(); });
  }

 private:
  const int size_;
  FakeNccl fake_;
  SharedMemoryHub hub_;
  std::vector<std::unique_ptr<World>> worlds_;
  std::vector<std::unique_ptr<Communicator>> all_, more_;
};

// Launches a sum that nobody reads; the host does not wait for it.
void sum_ones(Communicator& group);

}  // namespace d9d::nccl
