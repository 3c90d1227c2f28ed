#pragma once
// The ranks along some axes of the mesh, for tasks and other parts of plugins. Offers the operations
// of a Communicator on numbers, tensors of any shape and JSON objects, and runs sections in the order
// of the ranks. All ranks of the group must call the same operations in the same order, on one
// thread. Errors: see communicator.hpp.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d {

class RankGroup {
 public:
  // `communicator`: of the group; null for a group of this rank alone.
  explicit RankGroup(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)),
        rank_(communicator_ ? communicator_->rank() : 0),
        size_(communicator_ ? communicator_->size() : 1) {}

  int rank() const { return rank_; }  // in the group; also while the job sleeps
  int size() const { return size_; }
  bool is_first() const { return rank() == 0; }

  // Reduces in place. The tensor must be contiguous and have the same shape on all ranks.
  void all_reduce(at::Tensor& tensor, ReduceOp op = ReduceOp::sum) const;
  double all_reduce(double value, ReduceOp op = ReduceOp::sum) const;
  void broadcast(at::Tensor& tensor, int root = 0) const;

  // Returns the tensors of all ranks in rank order. The dtype must be the same, the shape may differ.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const;
  // The same at `root`; returns nothing on the other ranks.
  std::vector<at::Tensor> gather(const at::Tensor& tensor, int root = 0) const;
  // The same for JSON values.
  std::vector<nlohmann::json> all_gather_object(const nlohmann::json& object) const;
  std::vector<nlohmann::json> gather_object(const nlohmann::json& object, int root = 0) const;
  nlohmann::json broadcast_object(const nlohmann::json& object, int root = 0) const;

  void barrier() const;
  // Runs `section` on the first rank while the others wait, then on the others ("main process
  // first"). If it throws on the first rank, the others get an environment error with that text.
  void first_then_others(const std::function<void()>& section) const;
  // Runs `section` on one rank after the other. If it throws, the ranks that wait get an environment error.
  void in_turn(const std::function<void()>& section) const;

 private:
  void run_alone(int runner, const std::function<void()>& section) const;

  std::shared_ptr<Communicator> communicator_;
  int rank_, size_;
};

}  // namespace d9d
