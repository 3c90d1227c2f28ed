#pragma once
// What one rank has of its process: its number, its device, and the ways to other ranks. No torch.

#include <functional>
#include <memory>
#include <string>

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

class Communicator;
class Device;
class TensorTable;
struct RankGradients;

// Opens a communicator between two ranks of the job, given by their numbers. One of them is this rank.
using OpenPair = std::function<std::shared_ptr<Communicator>(int one, int other, const std::string& use)>;

struct RankServices {
  int rank = 0;
  const Plan* plan = nullptr;
  std::shared_ptr<Device> device;            // null: the CPU
  bool synchronous_device = false;           // see stage_core_options.hpp
  int threads = 1;                           // with which an action computes
  OpenGroup open_group;                      // communicators of the modules
  OpenPair open_pair;                        // to the rank that holds the other copy of tied weights
  std::shared_ptr<RankGradients> gradients;  // shared with the rank's CollectiveWorkers
  TensorTable* table = nullptr;

  const RankPlacement& place() const { return plan->placement(rank); }
  // Ranks of tensor parallelism compute the same loss of the same samples, so only one of them counts it.
  bool counts_loss() const { return place().tensor == 0; }
};

}  // namespace d9d
