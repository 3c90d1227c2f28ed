#pragma once
// A group that spans nodes with several ranks on each: the ranks of a node communicate over shared
// memory, and each of them only with its counterparts on the other nodes. An all-reduce of n
// bytes sends 2 n (nodes - 1) / nodes bytes out of a node, whatever the number of ranks on it.

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {

// The ranks of the group as [node][position on the node].
// `across`: the ranks of one position, in order of nodes.
struct HybridParts {
  Group group;
  int ranks_per_node = 0;
  std::unique_ptr<Communicator> local;
  std::unique_ptr<Communicator> across;
  std::unique_ptr<Communicator> flat;  // all of them: exchanges of rows, and messages
};

// Sums the ranks of each node first, then the nodes. The result has the same bits as elsewhere
// if the number of ranks per node is a power of two, because sums pair neighbours (reduce.hpp).
std::unique_ptr<Communicator> make_hybrid(HybridParts parts);

}  // namespace d9d
