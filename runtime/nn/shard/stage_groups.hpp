#pragma once
// The world outside a stage as a parallel strategy sees it: the mesh, and communicators to the ranks that
// share its work. Modules see only the communicators that a strategy gives them.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/mesh/domains.hpp"
#include "runtime/nn/shard/communication_thread.hpp"

namespace d9d {

class Communicator;

// Opens a new communicator of the rank's group over these axes. Waits for the other ranks of the group. Returns null
// where only layouts are wanted.
using OpenGroup = std::function<std::shared_ptr<Communicator>(
    const std::string& domain, const std::vector<std::string>& axes, const std::string& use)>;

class StageGroups {
 public:
  // Keeps a reference to `domains`.
  StageGroups(const MeshDomains& domains, int rank, OpenGroup open);

  const MeshDomains& domains() const { return domains_; }
  int rank() const { return rank_; }

  // Returns the communicator of this rank's group over these axes. The first call for a `use`
  // opens it and waits for the group's other ranks, so all ranks of a stage must make these calls
  // in the same order, and only for groups that they will call: devices are connected at once, but for gathers, whose
  // units do that (gathered_unit.hpp). Later calls, from any stage of the rank, return the same communicator. Use
  // it on the stage's compute thread.
  std::shared_ptr<Communicator> open(const std::string& domain, const std::vector<std::string>& axes,
                                     const std::string& use);

  // The updates of a step that move the parameter of this name. Parameters of different updates share no unit.
  std::vector<int> moved_in(const std::string& parameter) const {
    return moved_in_ ? moved_in_(parameter) : std::vector<int>{0};
  }
  void set_moved_in(std::function<std::vector<int>(const std::string&)> moved_in) {
    moved_in_ = std::move(moved_in);
  }

  // The rank's thread for communication that overlaps with compute, shared by its stages. Its jobs need
  // communicators that no other thread uses: open() these under another `use`.
  const std::shared_ptr<CommunicationThread>& communication_thread() const { return communication_thread_; }

 private:
  const MeshDomains& domains_;
  const int rank_;
  const OpenGroup open_;
  std::function<std::vector<int>(const std::string&)> moved_in_;
  const std::shared_ptr<CommunicationThread> communication_thread_ = std::make_shared<CommunicationThread>();
  std::map<std::tuple<std::string, std::vector<std::string>, std::string>, std::shared_ptr<Communicator>>
      opened_;
};

}  // namespace d9d
