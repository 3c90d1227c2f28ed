#pragma once
// A stage that has nothing but buffers.

#include <utility>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d::test {

class BuffersOnly final : public StageModule {
 public:
  explicit BuffersOnly(std::vector<StageBuffer> buffers) : held(std::move(buffers)) {}

  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override { return inputs; }
  std::vector<StageParameter> parameters() override { return {}; }
  std::vector<StageBuffer> buffers() override { return held; }
  void set_training(bool) override {}

  std::vector<StageBuffer> held;
};

}  // namespace d9d::test
