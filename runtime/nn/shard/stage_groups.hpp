#pragma once
// What a parallel strategy gets of the world outside the stage: the mesh, and communicators to the ranks that
// share its work. No module sees more of the mesh than the communicators it was given.

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

  // The communicator over these axes for this use, opened by the first who asks and the same for all after;
  // all stages of a rank share it. To be used on the stage's compute thread. Every rank of a stage asks in
  // the same order: opening waits for the others.
  virtual std::shared_ptr<Communicator> open(const std::string& domain, const std::vector<std::string>& axes,
                                             const std::string& use) = 0;

  // The rank's lane for what is communicated beside compute, one for all its stages. What runs there has
  // communicators of its own.
  const std::shared_ptr<CommunicationLane>& lane() const { return lane_; }

 private:
  const std::shared_ptr<CommunicationLane> lane_ = std::make_shared<CommunicationLane>();
};

}  // namespace d9d
