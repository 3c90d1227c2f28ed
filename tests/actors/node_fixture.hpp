#pragma once
// A node whose cast, coordinator and peers are ears.

#include <gtest/gtest.h>

#include "actors/node.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d::test {

class NodeTest : public ::testing::Test {
 protected:
  static constexpr ActorId first_id{Role::node, 0};
  static constexpr ActorId stranger_id{Role::node, 77};  // before it knows its index
  static constexpr ActorId coordinator_id{Role::coordinator, 0};
  static constexpr ActorId trainer_id{Role::trainer, 0};
  static constexpr ActorId executor_id{Role::rank_executor, 0};

  NodeTest() {
    options.coordinator = {coordinator_id, Threading::own_thread, {}};
    options.join = {"boss", 29500};
    options.address.listen = HostPort{"127.0.0.1", 0};
    options.join_timeout = std::chrono::seconds(60);
    options.ranks = 1;
    options.build = "1.0";
    options.job_hash = "abc";
    options.enter_membership = [this](const std::string& secret) { memberships.push_back(secret); };
    options.incarnation = 77;
    options.cast = [this](const Membership& membership) {
      if (!cast_failure.empty()) throw Error(ErrorKind::input, cast_failure);
      cast.push_back(membership);
      if (listener) {
        return std::vector<CastMember>{{trainer_id, Threading::pool, {}, true},
                                       {{Role::user, 0}, Threading::pool, {}, true, true}};
      }
      return std::vector<CastMember>{{trainer_id, Threading::pool, {}, true},
                                     {executor_id, Threading::own_thread, {}, true},
                                     {{Role::event_bus, 0}, Threading::pool, {}, false}};
    };
    options.node_of = [] { return [](ActorId) { return 0; }; };
    options.abort_collectives = [this](const std::string& reason) { aborted.push_back(reason); };
    options.on_end = [this](int exit_code) { exits.push_back(exit_code); };
    world.world().book.enter_node(0, world.ear());
  }
  void play_first() { world.play<Node>(first_id, options); }
  void play_member() {
    play_first();
    welcome(first_id, 0, 1);
  }
  void fails_by_input(ActorId actor) {
    world.say<wire::Failed>(
        first_id, [](wire::Failed::Builder failed) { failed.setKind(wire::Failed::Kind::INPUT); }, actor);
  }
  void play_joining() {
    become_joining();
    world.play<Node>(stranger_id, options);
    dialed(stranger_id, 0, true);
  }
  void become_joining() {
    options.first = false;
    options.opens_port = true;
    options.address.listen.reset();
    options.address.insecure = true;
  }
  void dialed(ActorId node, std::uint32_t index, bool ok) {
    world.say<wire::Dialed>(
        node,
        [&](wire::Dialed::Builder dialed) {
          dialed.setNodeIndex(index);
          dialed.setOk(ok);
          dialed.setReason(ok ? "" : "connection refused");
          dialed.setOwnHost(ok ? "10.0.0.9" : "");
        },
        node, ok ? world.ear() : nullptr);
  }
  // Of node `index` to node 2.
  void greeting(std::uint32_t index) {
    world.say<wire::Greeting>(
        {Role::node, 2}, [&](wire::Greeting::Builder greeting) { greeting.setNodeIndex(index); },
        {Role::node, index}, world.ear());
  }
  void welcome(ActorId to, std::uint32_t index, unsigned nodes, bool first_has_host = true) {
    world.say<wire::Welcome>(
        to,
        [&](wire::Welcome::Builder welcome) {
          welcome.setEpoch(1);
          welcome.setNodeIndex(index);
          welcome.setResumeStep(4);
          welcome.setSecret("of members");
          auto list = welcome.initNodes(nodes);
          for (unsigned i = 0; i < nodes; ++i) {
            if (i > 0 || first_has_host) list[i].setHost("host-" + std::to_string(i));
            list[i].setPort(static_cast<std::uint16_t>(1000 + i));
            list[i].setRanks(1);
          }
        },
        coordinator_id);
  }
  void ready(ActorId from, std::uint64_t entries = 0) {
    world.say<wire::Ready>(
        first_id, [&](wire::Ready::Builder ready) { ready.setEntries(entries); }, from);
  }
  void stop_node(bool failed, bool input_error = false) {
    world.say<wire::StopNode>(
        first_id,
        [&](wire::StopNode::Builder stop) {
          stop.setFailed(failed);
          stop.setInputError(input_error);
          stop.setReason("why");
        },
        coordinator_id);
  }
  std::vector<ActorId> spawned() {
    std::vector<ActorId> ids;
    for (const auto& child : world.spawned) ids.push_back(child.id);
    return ids;
  }

  NodeOptions options;
  std::string cast_failure;
  bool listener = false;  // the cast has a user's actor, which goes first
  std::vector<Membership> cast;
  std::vector<std::string> memberships;
  std::vector<std::string> aborted;
  std::vector<int> exits;
  ActorWorld world;
};

}  // namespace d9d::test
