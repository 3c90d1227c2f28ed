#include "tests/runtime/comm/world.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/comm/checked.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/comm/single.hpp"

namespace d9d {

CommWorld::CommWorld(CommWorldOptions options) : options_(std::move(options)), communicators_(options_.size) {
  if (options_.backend != "single" && options_.backend != "shared_memory") {
    store_ = Store::host("127.0.0.1", 0);
    gloo_ = std::make_unique<GlooTransport>("127.0.0.1", *store_);
  }
  for (int node = 0; node < size() / 2; ++node) hubs_.push_back(std::make_unique<SharedMemoryHub>());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) {
    threads.emplace_back([this, rank] { communicators_[rank] = open(rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

CommWorld::~CommWorld() = default;

std::unique_ptr<Communicator> CommWorld::open(int rank) {
  auto communicator = open_plain(rank);
  return options_.checked ? make_checked(std::move(communicator), 100 + rank) : std::move(communicator);
}

std::unique_ptr<Communicator> CommWorld::open_plain(int rank) {
  Group group;
  group.name = "test[all]";
  group.ranks.resize(size());
  std::iota(group.ranks.begin(), group.ranks.end(), 100);
  group.index = rank;
  if (options_.backend == "single") return std::make_unique<SingleCommunicator>();
  if (options_.backend == "shared_memory") return hub_.open(group, options_.timeout);
  if (options_.backend == "hybrid") return open_hybrid(rank);
  return gloo_->open(group, options_.timeout);
}

std::unique_ptr<Communicator> CommWorld::open_hybrid(int rank) {
  DeviceMeshParameters parameters;
  parameters.data_parallel_replicate = size();
  const Plan plan(parameters, std::vector<int>(hubs_.size(), 2));
  const CommunicatorFactory factory(plan, *hubs_[rank / 2], gloo_.get(), {.timeout = options_.timeout});
  return factory.open(rank, kFlatDomain, {"world"}, "test");
}

std::vector<std::string> CommWorld::run_and_collect(const std::function<void(Communicator&)>& work) {
  std::vector<std::string> errors(size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(communicator(rank));
      } catch (const std::exception&) {
        const Caught caught = describe_current_exception();
        errors[rank] = std::string(name_of(caught.kind)) + ": " + caught.what;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void CommWorld::run(const std::function<void(Communicator&)>& work) {
  for (const std::string& error : run_and_collect(work)) EXPECT_EQ(error, "");
}

}  // namespace d9d
