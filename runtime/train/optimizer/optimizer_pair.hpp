#pragma once
// Two optimizers that share a stage's buffers. Each updates other parameters (ParameterFilter).

#include <memory>
#include <utility>

#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

class OptimizerPair final : public Optimizer {
 public:
  OptimizerPair(std::unique_ptr<Optimizer> first, std::unique_ptr<Optimizer> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void step(const UpdateScale& scale) override {
    ++step_count_;
    first_->step(scale);
    second_->step(scale);
  }
  void set_step_count(std::int64_t count) override {
    Optimizer::set_step_count(count);
    first_->set_step_count(count);
    second_->set_step_count(count);
  }
  std::vector<StateEntry> state_entries() const override {
    std::vector<StateEntry> entries = first_->state_entries();
    for (StateEntry& entry : second_->state_entries()) entries.push_back(std::move(entry));
    return entries;
  }

 private:
  const std::unique_ptr<Optimizer> first_, second_;
};

}  // namespace d9d
