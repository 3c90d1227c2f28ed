#include "runtime/rank/group/module_communicators.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A group whose other rank has no say in barriers: rank 0 of a group of two, played by a thread.
class Watched : public testing::Test {
 protected:
  CommTracing tracing() {
    const auto note = [this](const std::string& what) -> TraceHook {
      return [this, what](const std::string& name, std::uint64_t, const std::function<void()>& work) {
        told_.push_back(what + " " + name);
        work();
      };
    };
    return {note("beside"), note("waits"), note("inside")};
  }
  std::shared_ptr<Communicator> end(int rank) {
    return hub_.open({"pair", {0, 1}, rank, true}, std::chrono::seconds(20));
  }
  void barriers(Communicator& mine, int count) {
    std::thread peer([&, other = end(1)] {
      for (int i = 0; i < count; ++i) other->barrier();
    });
    for (int i = 0; i < count; ++i) mine.barrier();
    peer.join();
  }
  std::shared_ptr<Communicator> opened(const ComputeLanes* lanes) {
    const OpenGroup open = [this](const auto&, const auto&, const auto&) { return end(0); };
    return with_tracing(open, tracing(), [lanes] { return lanes; })("dense", {"tp"}, "test");
  }

  SharedMemoryHub hub_;
  std::vector<std::string> told_;
};

TEST_F(Watched, AStageStandsStillInACollectiveOfItsModules) {
  const auto mine = opened(nullptr);

  barriers(*mine, 1);

  EXPECT_THAT(told_, ElementsAre("waits barrier pair", "inside barrier pair"));
}

TEST_F(Watched, WhatAnotherThreadDoesIsToldByItself) {
  const auto mine = opened(nullptr);

  std::thread lane([&] { barriers(*mine, 1); });
  lane.join();

  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Watched, WhileTwoLanesRunNothingStandsStill) {
  ComputeLanes lanes;
  const auto mine = opened(&lanes);

  lanes.run([&] { barriers(*mine, 1); }, [] {});

  EXPECT_THAT(told_, ElementsAre("inside barrier pair"));
}

}  // namespace
}  // namespace d9d
