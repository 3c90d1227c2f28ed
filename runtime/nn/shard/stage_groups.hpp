#pragma once
// What a parallel strategy knows of the world outside its stage: the mesh, and communicators to
// the ranks that share its work. Modules see only the communicators that a strategy gives them.

#include <memory>
#include <string>
#include <vector>

#include "runtime/mesh/domains.hpp"
#include "runtime/nn/shard/communication_lane.hpp"

namespace d9d {

class Communicator;

class StageGroups {
 public:
  virtual ~StageGroups() = default;

  virtual const MeshDomains& domains() const = 0;
  virtual int rank() const = 0;

  // The communicator of this rank's group over these axes. The first call for a `use` opens it and waits for
  // the group's other ranks, so all ranks of a stage must call in the same order; later calls, from any stage
  // of the rank, return the same one. Use it on the stage's compute thread.
  virtual std::shared_ptr<Communicator> open(const std::string& domain, const std::vector<std::string>& axes,
                                             const std::string& use) = 0;

  // The rank's thread for communication that overlaps with compute, shared by its stages. Its jobs need
  // communicators that no other thread uses: open() them under another `use`.
  const std::shared_ptr<CommunicationLane>& lane() const { return lane_; }

 private:
  const std::shared_ptr<CommunicationLane> lane_ = std::make_shared<CommunicationLane>();
};

}  // namespace d9d
