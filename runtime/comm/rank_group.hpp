#pragma once
// Ranks that talk along some axes of the mesh, for tasks and other pieces of plugins: the operations of a Communicator
// on values, tensors of any shapes, objects, and sections in order. All ranks of the group call the same ones in the same
// order, on one thread; see communicator.hpp for errors.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d {

class RankGroup {
 public:
  // Null: this rank alone.
  explicit RankGroup(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)),
        rank_(communicator_ ? communicator_->rank() : 0),
        size_(communicator_ ? communicator_->size() : 1) {}

  int rank() const { return rank_; }  // in the group; also while the job sleeps
  int size() const { return size_; }
  bool is_first() const { return rank() == 0; }

  // In place; contiguous, of the same shape on all ranks.
  void all_reduce(at::Tensor& tensor, ReduceOp op = ReduceOp::sum) const;
  double all_reduce(double value, ReduceOp op = ReduceOp::sum) const;
  void broadcast(at::Tensor& tensor, int root = 0) const;

  // In rank order; one dtype, any shape and number of dimensions on each rank.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const;
  // At `root` only; the others get nothing.
  std::vector<at::Tensor> gather(const at::Tensor& tensor, int root = 0) const;
  // Anything that JSON can say.
  std::vector<nlohmann::json> all_gather_object(const nlohmann::json& object) const;
  std::vector<nlohmann::json> gather_object(const nlohmann::json& object, int root = 0) const;
  nlohmann::json broadcast_object(const nlohmann::json& object, int root = 0) const;

  void barrier() const;
  // The first rank runs it while the others wait; then they run it ("main process first"). What it throws there ends
  // the wait of the others, too: an environment error with that text.
  void first_then_others(const std::function<void()>& section) const;
  // One rank after the other.
  void in_turn(const std::function<void()>& section) const;

 private:
  void run_alone(int runner, const std::function<void()>& section) const;

  std::shared_ptr<Communicator> communicator_;
  int rank_, size_;
};

}  // namespace d9d
