#pragma once
// Ranks of one group, each a thread with its communicator, for any backend that lives in one process.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"

namespace d9d {

struct CommWorldOptions {
  std::string backend = "shared_memory";  // or "sockets", "late", "tls", "hybrid", "single"
  int size = 2;
  std::chrono::milliseconds timeout{10'000};
  bool checked = false;  // checked.hpp around it

  friend void PrintTo(const CommWorldOptions& world, std::ostream* out) {
    *out << (world.checked ? "checked " : "") << world.backend << " of " << world.size;
  }
};

class CommWorld {
 public:
  explicit CommWorld(CommWorldOptions options);
  ~CommWorld();

  int size() const { return options_.size; }
  Communicator& communicator(int rank) { return *communicators_[rank]; }
  // Runs it on all ranks at once and waits. The errors by rank, empty where all went well.
  std::vector<std::string> run_and_collect(const std::function<void(Communicator&)>& work);
  // The same; an error of any rank is a test failure.
  void run(const std::function<void(Communicator&)>& work);

 private:
  std::unique_ptr<Communicator> open(int rank);
  std::unique_ptr<Communicator> open_plain(int rank);
  std::unique_ptr<Communicator> open_hybrid(int rank);
  void open_gates(int num_nodes);

  const CommWorldOptions options_;
  SharedMemoryHub hub_;
  std::vector<std::unique_ptr<SharedMemoryHub>> hubs_;  // of the nodes, two ranks each, of "hybrid"
  struct Node;
  std::vector<std::unique_ptr<Node>> nodes_;  // of "sockets" and "tls" one per rank, of "hybrid" one per two
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace d9d
