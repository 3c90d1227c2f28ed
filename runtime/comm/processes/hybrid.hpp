#pragma once
// A group over several nodes with several ranks on each. The ranks of a node communicate over shared memory,
// and each of them over sockets with its counterparts only: the ranks at its position on the other nodes. An
// all-reduce of n bytes sends 2 n (nodes - 1) / nodes bytes out of a node, however many ranks the node has.

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {

// The communicators of one rank. Think of the ranks of the group as a table [node][position on the node].
struct HybridParts {
  Group group;
  int ranks_per_node = 0;
  std::unique_ptr<Communicator> local;   // ranks of this node
  std::unique_ptr<Communicator> across;  // ranks of this position, in order of nodes
  std::unique_ptr<Communicator> flat;    // all ranks: for all_to_all and for messages
};

// Sums over the ranks of each node first, then over the nodes. The result has the same bits
// as with the other backends if the number of ranks per node is a power of two, because
// sums pair neighbours (reduce.hpp).
std::unique_ptr<Communicator> make_hybrid(HybridParts parts);

}  // namespace d9d
