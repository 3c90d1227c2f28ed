#pragma once
// A group that spans nodes with several ranks on each: ranks of a node meet in shared memory, and each talks
// to its counterparts on the other nodes only. An all-reduce of n bytes sends 2 n (nodes - 1) / nodes bytes
// out of a node, whatever the number of ranks on it.

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

// Sums are of the node's ranks first, then of the nodes: the same bits as elsewhere where the ranks per node
// are a power of two, since sums pair neighbours (reduce.hpp).
std::unique_ptr<Communicator> make_hybrid(HybridParts parts);

}  // namespace d9d
