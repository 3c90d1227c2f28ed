#pragma once
// A Coordinator with scripted nodes, disk and store around it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/coordinator.hpp"
#include "messages/event.capnp.h"
#include "tests/support/actor_world.hpp"

namespace d9d::test {

inline constexpr ActorId coordinator_id{Role::coordinator, 0};

class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() {
    options.world_size = 3;
    options.build = "1.0";
    options.job_hash = "abc";
    options.secret = "of members";
    options.tag = "tag";
    options.join_timeout = std::chrono::seconds(30);
    options.find_resume_point = [this] { return resume; };
    options.commit = [this](const CheckpointParts& parts) {
      if (disk_full) throw Error(ErrorKind::environment, "no space left on device");
      commits.push_back(parts);
      return "save-" + std::to_string(parts.step);
    };
    options.discard = [this](std::uint64_t step) { discarded.push_back(step); };
    options.make_room = [this] { ++rooms_made; };
  }

  void play() { world.play<Coordinator>(coordinator_id, options); }
  // A node's Join as every field should be; `change` makes it wrong.
  void join(std::uint64_t incarnation, std::uint32_t ranks, int wish = -1,
            const std::function<void(wire::Join::Builder)>& change = {}) {
    world.say<wire::Join>(
        coordinator_id,
        [&](wire::Join::Builder join) {
          join.setRanks(ranks);
          join.setNodeIndex(wish);
          join.setHost("host-" + std::to_string(incarnation));
          join.setPort(static_cast<std::uint16_t>(incarnation));
          join.setBuild("1.0");
          join.setJobHash("abc");
          join.setIncarnation(incarnation);
          if (change) change(join);
        },
        {Role::node, incarnation}, world.ear());
  }
  std::string refusal() {
    const auto all = world.heard<wire::Refused>();
    return all.empty() ? "" : std::string(all.back()->getReason());
  }
  // Two nodes of 2 and 1 ranks, training begins.
  void form() {
    play();
    join(100, 2);
    join(101, 1);
    for (const std::uint32_t node : {0, 1}) ready(node);
  }
  void ready(std::uint32_t node, std::uint64_t entries = 0) {
    world.say<wire::NodeReady>(coordinator_id,
                               [&](wire::NodeReady::Builder ready) {
                                 ready.setNodeIndex(node);
                                 ready.setEntries(entries);
                               },
                               {Role::node, node});
  }
  void finish(int rank) {
    world.say<wire::RankFinished>(coordinator_id, [&](wire::RankFinished::Builder message) {
      message.setRank(rank);
      message.setStep(last_step);
    });
  }
  // The tracker has all numbers, too.
  void finish_all() {
    for (const int rank : {0, 1, 2}) finish(rank);
    tracker(0);
  }
  void shard(std::uint64_t step, int rank, const std::string& failure = {}) {
    world.say<wire::ShardWritten>(coordinator_id, [&](wire::ShardWritten::Builder written) {
      written.setStep(step);
      written.setRank(rank);
      if (failure.empty()) written.setReport("report " + std::to_string(rank));
      written.setFailure(failure);
    });
  }
  void state(std::uint64_t step, int rank) {
    world.say<wire::CheckpointState>(coordinator_id, [&](wire::CheckpointState::Builder message) {
      message.setStep(step);
      message.setRank(rank);
      message.setNextSample(step * 8);
      message.setState("state " + std::to_string(rank));
    });
  }
  void amended(std::uint64_t step, const std::string& patch) {
    world.say<wire::CheckpointState>(coordinator_id, [&](wire::CheckpointState::Builder message) {
      message.setStep(step);
      message.setState(patch);
      message.setAmends(true);
    });
  }
  void tracker(std::uint64_t step) {
    world.say<wire::TrackerFlushed>(coordinator_id,
                                    [&](wire::TrackerFlushed::Builder message) { message.setStep(step); });
  }
  void save(std::uint64_t step) {
    for (const int rank : {0, 1, 2}) shard(step, rank), state(step, rank);
    tracker(step);
  }
  void gone(std::uint32_t node) {
    world.say<wire::PeerDown>(coordinator_id, [&](wire::PeerDown::Builder down) {
      down.setNodeIndex(node);
      down.setReason("disconnected");
    });
  }
  // To the other nodes first, to the parent last.
  std::vector<Heard<wire::StopNode>> stops() { return world.heard<wire::StopNode>(); }

  CoordinatorOptions options;
  ResumePoint resume;
  std::uint64_t last_step = 10;
  bool disk_full = false;
  int rooms_made = 0;
  std::vector<CheckpointParts> commits;
  std::vector<std::uint64_t> discarded;
  ActorWorld world;
};

}  // namespace d9d::test
