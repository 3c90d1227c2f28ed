#pragma once
// Node: the root of a process: joins the job, spawns the cast of its ranks, passes messages on to them, reports
// their failures, ends the process. Pool. One per process. Its states and what follows them: notes/node_state.hpp.
// hears Welcome Refused Dialed Greeting PeerDown Ready StartTraining Failed StopNode Signalled Tick
// says Join Greeting NodeReady StartTraining Failed Stop Publish Signalled FlushTrace

#include <set>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/node_options.hpp"
#include "actors/notes/dials.hpp"
#include "actors/notes/node_state.hpp"
#include "messages/cluster.capnp.h"
#include "runtime/base/error.hpp"

namespace d9d {

class Node final : public Actor {
 public:
  Node(World& world, NodeOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;
  void stop() override {}  // only StopNode ends a node

  void welcome(wire::Welcome::Reader message);
  void refused(wire::Refused::Reader message);
  void dialed(wire::Dialed::Reader message);
  void greeting(wire::Greeting::Reader message);
  void peer_down(wire::PeerDown::Reader message);
  void ready(wire::Ready::Reader message);
  void start_training(wire::StartTraining::Reader message);
  void failed(wire::Failed::Reader message);
  void stop_node(wire::StopNode::Reader message);
  void signalled(wire::Signalled::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  static constexpr int first_node = 0;
  enum ExitCode { exit_done = 0, exit_failed = 1, exit_bad_input = 2 };
  enum TickKind : std::uint32_t {
    dial_again = 1,
    listen_again = 2,
    join_deadline = 3,
    leave_unformed = 4,
    still_without_peer = 5,
    init_deadline = 6
  };

  void take_part();
  bool open_port();
  bool know_own_host();
  void dial(int node, const HostPort& address);
  void dial_failed(int node, const std::string& reason);
  void connected(int node);
  void set_deadline(std::chrono::nanoseconds delay);
  void give_up();
  void join();
  void meet_peers();
  void spawn_cast();
  void spawn_all(std::vector<CastMember> members);
  void spawn_rest();
  void give_up_on_cast();
  void publish_configured(ActorId ready);
  void publish(const char* event, int rank = 0);
  struct Failure {  // wire::Failed
    wire::Failed::Kind kind;
    std::string text, actor = {};
    int rank = -1;
    std::uint64_t step = 0;
    std::string message = {};
  };
  void tell_failed(ErrorKind kind, const std::string& text);
  void tell_failed(const Failure& failure);
  void stop_here(int exit_code, const std::string& reason);
  void write_trace();
  void pass_signal_to(ActorId whom, wire::Signalled::Reader message);
  // Ends this process. `orderly`: the job has not failed, so no actor waits in a collective.
  void end(int exit_code, const std::string& reason, bool orderly = false);

  NodeOptions options_;
  Membership membership_;
  std::vector<ActorId> children_;
  std::vector<CastMember> waiting_cast_;
  std::set<ActorId> not_ready_;
  std::uint64_t entries_ = 0;   // tensors read from the resumed checkpoint
  std::uint16_t port_ = 0;      // the port that is open
  std::string route_;           // this host's address on the way to node 0
  std::string problem_;         // why there is no port yet
  std::string lost_peer_;       // with which node the connection ended, and why
  std::uint64_t deadline_ = 0;  // number of the deadline that counts; older ones have no effect
  Dials dials_;
  Lifecycle<NodeState> state_{NodeState::dialling, node_transitions};
  // These may become true in any state: a signal has asked the node to stop; the EventBus, which stops own actors
  // otherwise, is gone.
  int stop_signal_ = 0;
  bool stops_own_actors_ = false;
};

}  // namespace d9d
