#pragma once
// The persistent buffers of a rank's stages: this rank's block of each. Keeps the copies equal on the ranks
// that hold the same block. Use it on the stage's compute thread. Needs torch.

#include <memory>
#include <utility>
#include <vector>

#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Returns the domain that has these axes. `axes` must not be empty.
std::string domain_of_axes(const std::vector<std::string>& axes);

class RankBuffers {
 public:
  // Keeps a reference to `domains`. make_equal() calls `open` if there are buffers.
  RankBuffers(const MeshDomains& domains, int rank, OpenGroup open)
      : groups_(domains, rank, std::move(open)) {}

  // Call after parallelize(), which may have split the module's buffers.
  void add(std::shared_ptr<StageModule> module) { modules_.push_back(std::move(module)); }

  // Returns all buffers as they are now, in the order of the stages. Each has a layout with all axes of
  // its domain. Buffers without elements are left out. Input error, with the buffer's name, when a
  // buffer has no name or another one's, no tensor, a dtype that no file can hold, or a block of
  // another shape than its layout says.
  std::vector<StageBuffer> all() const;
  // Returns the buffers of one module. The same errors, but names of other stages are not compared.
  std::vector<StageBuffer> of(StageModule& module) const;

  // Gives each buffer the values of the first rank that holds the same block. All ranks of a stage must call
  // it at the same point of their work; if there are buffers, they wait for each other.
  void make_equal();

 private:
  StageBuffer placed(StageBuffer buffer) const;

  StageGroups groups_;
  std::vector<std::shared_ptr<StageModule>> modules_;
};

}  // namespace d9d
