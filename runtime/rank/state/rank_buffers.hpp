#pragma once
// The persistent buffers of a rank's stages: the block of each that this rank holds, and how the ranks that
// hold the same block stay equal. Used on the stage's compute thread. Needs torch.

#include <memory>
#include <utility>
#include <vector>

#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// The domain whose axes these are; at least one.
std::string domain_of_axes(const std::vector<std::string>& axes);

class RankBuffers {
 public:
  // Keeps a reference to `domains`. `open`: for make_equal(), called when there are buffers only.
  RankBuffers(const MeshDomains& domains, int rank, OpenGroup open)
      : groups_(domains, rank, std::move(open)) {}

  // Call after parallelize(), which may have split the module's buffers.
  void add(std::shared_ptr<StageModule> module) { modules_.push_back(std::move(module)); }

  // As they are now, in the order of the stages. Each has a layout with all axes of its domain. Those without
  // elements are left out. Input error, by name: no name or one that comes twice, no tensor, a type of
  // elements that no file holds, a block of another shape than its layout says.
  std::vector<StageBuffer> all() const;
  // Those of one module; the same errors, but for a name of another stage.
  std::vector<StageBuffer> of(StageModule& module) const;

  // Gives each buffer the values of the first rank that holds the same block. All ranks of a stage call it at
  // the same point of their work, and wait for each other there if there are buffers.
  void make_equal();

 private:
  StageBuffer placed(StageBuffer buffer) const;

  StageGroups groups_;
  std::vector<std::shared_ptr<StageModule>> modules_;
};

}  // namespace d9d
