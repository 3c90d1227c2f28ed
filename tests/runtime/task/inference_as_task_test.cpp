#include "runtime/task/inference_as_task.hpp"

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class Remembering final : public InferenceTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override {
    return {.inputs = context.batch, .shared = {}, .state = {}};
  }
  void process_outputs(const InferenceContext& /*context*/) override {}
  nlohmann::json state() const override { return {{"seen", seen}}; }
  void load_state(const nlohmann::json& state) override { seen = state.at("seen"); }
  void finalize() override { finalized = true; }

  int seen = 0;
  bool finalized = false;
};

TEST(InferenceAsTask, PassesOnAllThatBothHave) {
  const auto inner = std::make_shared<Remembering>();
  const std::shared_ptr<TrainTask> task = as_task(inner);
  task->load_state({{"seen", 4}});
  EXPECT_EQ(task->state(), nlohmann::json({{"seen", 4}}));
  task->finalize();
  EXPECT_TRUE(inner->finalized);
  const TensorMap batch{{"input_ids", at::Tensor()}};
  EXPECT_TRUE(task->build_forward_inputs({1, 0, batch}).inputs.contains("input_ids"));
  EXPECT_THROW(task->compute_loss({1, 0, batch, batch}), Error);
}

}  // namespace
}  // namespace d9d
