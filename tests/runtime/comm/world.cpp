#include "tests/runtime/comm/world.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/comm/decorators/checked.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/comm/shared_memory/single.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

// For the ranks to find each other, whatever time limit the test sets to their operations.
constexpr std::chrono::seconds join_patience{60};
constexpr int first_global_rank = 100;

}  // namespace

struct CommWorld::Node {
  explicit Node(std::shared_ptr<const net::Tls> tls) : gate(std::move(tls)) {}
  net::Gate gate;
  std::unique_ptr<SocketTransport> transport;
};

CommWorld::CommWorld(CommWorldOptions options) : options_(std::move(options)), communicators_(options_.size) {
  if (options_.backend == "sockets" || options_.backend == "tls") open_gates(size());
  if (options_.backend == "hybrid") open_gates(size() / 2);
  for (int node = 0; node < size() / 2; ++node) hubs_.push_back(std::make_unique<SharedMemoryHub>());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) {
    threads.emplace_back([this, rank] { communicators_[rank] = open(rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

CommWorld::~CommWorld() = default;

// Each rank, or pair of ranks, is a node with a port of its own.
void CommWorld::open_gates(int num_nodes) {
  const test::TemporaryFolder folder;
  std::shared_ptr<const net::Tls> tls;
  if (options_.backend == "tls")
    tls = std::make_shared<net::Tls>(test::Authority(folder.path(), "job").issue("node"));
  std::vector<HostPort> addresses;
  for (int node = 0; node < num_nodes; ++node) {
    nodes_.push_back(std::make_unique<Node>(tls));
    addresses.push_back({"127.0.0.1", nodes_.back()->gate.listen("127.0.0.1", 0)});
  }
  const int per_node = size() / num_nodes;
  for (int node = 0; node < num_nodes; ++node) {
    const int first = options_.backend == "hybrid" ? 0 : first_global_rank;
    nodes_[node]->transport = std::make_unique<SocketTransport>(
        nodes_[node]->gate,
        SocketTransportOptions{.node = node,
                               .nodes = addresses,
                               .node_of = [=](int rank) { return (rank - first) / per_node; },
                               .job = "test"});
  }
}

std::unique_ptr<Communicator> CommWorld::open(int rank) {
  auto communicator = open_plain(rank);
  communicator->set_timeout(options_.timeout);
  return options_.checked ? make_checked(std::move(communicator), 100 + rank) : std::move(communicator);
}

std::unique_ptr<Communicator> CommWorld::open_plain(int rank) {
  Group group;
  group.name = "test[all]";
  group.ranks.resize(size());
  std::iota(group.ranks.begin(), group.ranks.end(), first_global_rank);
  group.index = rank;
  if (options_.backend == "single") return std::make_unique<SingleCommunicator>();
  if (options_.backend == "shared_memory") return hub_.open(group, join_patience);
  if (options_.backend == "hybrid") return open_hybrid(rank);
  return nodes_[rank]->transport->open(group, join_patience);
}

std::unique_ptr<Communicator> CommWorld::open_hybrid(int rank) {
  DeviceMeshParameters parameters;
  parameters.data_parallel_replicate = size();
  const Plan plan(parameters, std::vector<int>(hubs_.size(), 2));
  const CommunicatorFactory factory(plan, *hubs_[rank / 2], nodes_[rank / 2]->transport.get(),
                                    {.timeout = join_patience});
  return factory.open(rank, flat_domain, {"world"}, "test");
}

std::vector<std::string> CommWorld::run_and_collect(const std::function<void(Communicator&)>& work) {
  std::vector<std::string> errors(size());
  test::in_threads(size(), [&](int rank) {
    try {
      work(communicator(rank));
    } catch (const std::exception&) {
      const Caught caught = describe_current_exception();
      errors[rank] = std::string(name_of(caught.kind)) + ": " + caught.what;
    }
  });
  return errors;
}

void CommWorld::run(const std::function<void(Communicator&)>& work) {
  for (const std::string& error : run_and_collect(work)) EXPECT_EQ(error, "");
}

}  // namespace d9d
