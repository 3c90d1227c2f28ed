#include "runtime/text/generating_model.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

TEST(GeneratingModel, ComputesRowsOfNoSampleOnlyInStep) {
  const std::shared_ptr<StageModule> stage = stage_of(golden_model("moe"));
  stage->set_training(false);
  const at::Tensor ids = at::tensor({5L, 9L, 2L, 7L, 7L, 9L, 6L, 7L, 3L, 8L, 1L, 1L}).view({3, 4});
  const TensorMap shared{{"sample_numbers", at::tensor({10L, 11L, -1L})},
                         {"prompt_lengths", at::tensor({4L, 4L, 4L})}};
  for (const bool in_step : {false, true}) {
    GenerateOptions options;
    options.max_new_tokens = 3;
    options.in_step = in_step;

    const at::Tensor tokens =
        GeneratingModel(stage, options).forward({{"input_ids", ids}}, shared).at("tokens");

    EXPECT_EQ(tokens[2][0].item<std::int64_t>() >= 0, in_step);
    EXPECT_GE(tokens[1][2].item<std::int64_t>(), 0);
  }
}

}  // namespace
}  // namespace d9d::test
