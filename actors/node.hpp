#pragma once
// Node: the root of a process: joins the job, spawns the cast of its ranks, passes messages on to them, reports
// their failures, ends the process. Pool. One per process.
// hears Welcome Refused Dialed PeerDown Ready StartTraining RankFinished Failed StopNode Tick
// says Join NodeReady StartTraining RankFinished Failed Stop Publish

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/cluster.capnp.h"

namespace d9d {

// What a node knows once the job has formed; the cast is a function of it.
struct Membership {
  std::uint32_t epoch = 0;
  int node = 0;
  std::vector<int> ranks_per_node;
  std::string store_host;
  std::uint16_t store_port = 0;
  std::string resume_from;
  std::uint64_t resume_step = 0;
  std::string resume_state;
  std::uint64_t resume_sample = 0;
  std::string tag;  // random per job start: names what is being written
};

struct CastMember {
  ActorId id;
  Threading threading = Threading::pool;
  ActorFactory factory;
  bool says_ready = false;  // training starts when all of these are ready
  bool goes_first = false;  // listens to what the others say: the others enter when all of these are ready
};

struct NodeOptions {
  bool first = true;       // node 0: makes the coordinator
  CastMember coordinator;  // node 0 only
  std::string join_host;   // the others: where node 0 listens
  std::uint16_t join_port = 0;
  std::chrono::milliseconds join_timeout{60'000};  // for reaching node 0 at all
  std::uint32_t ranks = 0;                         // offered; 0 = all that are left
  int node_index = -1;                             // wished
  std::string listen_host;                         // where this process listens
  std::uint16_t listen_port = 0;                   // 0: the system chooses
  bool opens_port = false;                         // a job of one process needs none
  std::string host;                                // where others reach this process
  std::string build;
  std::string job_hash;
  std::string token;
  std::uint64_t incarnation = 0;
  std::function<std::vector<CastMember>(const Membership&)> cast;
  std::function<AddressBook::NodeOf()> node_of;  // asked after cast
  // Wakes every actor that waits in a collective; called once, when the job fails.
  std::function<void(const std::string& reason)> abort_collectives;
  std::function<void(int exit_code)> on_end;
};

class Node final : public Actor {
 public:
  Node(World& world, NodeOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;
  void stop() override {}  // only StopNode ends a node

  void welcome(wire::Welcome::Reader message);
  void refused(wire::Refused::Reader message);
  void dialed(wire::Dialed::Reader message);
  void peer_down(wire::PeerDown::Reader message);
  void ready(wire::Ready::Reader message);
  void start_training(wire::StartTraining::Reader message);
  void rank_finished(wire::RankFinished::Reader message);
  void failed(wire::Failed::Reader message);
  void stop_node(wire::StopNode::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  bool open_port();
  void dial_first_node();
  void dial(int node, const std::string& address, std::uint16_t port);
  void join();
  void spawn_cast();
  void enter_stage(std::vector<CastMember> members);
  void enter_rest_when_ready();
  void publish_configured(ActorId ready);
  void publish(const char* event);
  void end(int exit_code, const std::string& reason);

  NodeOptions options_;
  std::int64_t started_ns_ = 0;
  Membership membership_;
  std::vector<ActorId> children_;
  std::vector<CastMember> waiting_cast_;
  std::set<ActorId> not_ready_;
  std::uint64_t entries_ = 0;  // taken from the resumed checkpoint
  std::uint16_t port_ = 0;     // where it really listens
  int dials_pending_ = 0;
  std::map<int, std::pair<std::string, std::uint16_t>> peers_;  // where they were dialled
  bool joined_ = false;
  bool formed_ = false;
  bool ended_ = false;
};

}  // namespace d9d
