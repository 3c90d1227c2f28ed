#include "runtime/text/recomputed_stage.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/text/generation.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

// What a model with a cache gives for the same tokens.
void expect_logits_of_a_cache(const std::shared_ptr<StageModule>& model) {
  RecomputedStage recomputed(model);
  GeneratingStage& cached = generating_stage(*model);
  const auto of_model = cached.make_cache({2, 8});
  const auto of_recomputed = recomputed.make_cache({2, 8});
  const auto pass = [&](std::vector<std::int64_t> ids, const NewTokens& tokens,
                        std::vector<std::int64_t> last) {
    const TensorMap inputs{{"input_ids", at::tensor(ids, at::kLong).unsqueeze(0)}};
    const TensorMap shared{{"logit_positions", at::tensor(last, at::kLong)}};
    const at::Tensor a = cached.extend(inputs, shared, *of_model, tokens).at("logits");
    const at::Tensor b = recomputed.extend(inputs, shared, *of_recomputed, tokens).at("logits");
    EXPECT_LT(relative_difference(b, a), 1e-5);
  };

  pass({5, 9, 2, 7, 1}, {{{0, 0, 3}, {1, 0, 2}}}, {2, 4});
  pass({6, 3}, {{{0, 3, 1}, {1, 2, 1}}}, {0, 1});
  pass({8}, {{{1, 3, 1}}}, {0});
  pass({4, 4}, {{{0, 0, 2}}}, {1});
}

TEST(RecomputedStage, GivesTheLogitsOfACache) {
  const std::shared_ptr<StageModule> model = stage_of(golden_model("moe"));
  model->set_training(false);

  expect_logits_of_a_cache(model);
}

TEST(RecomputedStage, GivesThemOnADeviceToo) {
  const auto device = delayed_device(0);

  expect_logits_of_a_cache(
      load_hugging_face_model(PosixDisk(), golden_folder("moe"), at::kFloat, device->place()).stage);
}

}  // namespace
}  // namespace d9d::test
