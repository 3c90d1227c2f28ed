#include "runtime/task/token_inputs.hpp"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(TokenInputs, HandOnWhatTheBatchSaysOfPositionsAndDocuments) {
  const at::Tensor rows = at::zeros({2, 4}, at::kLong);
  const TensorMap batch{
      {"input_ids", rows}, {"document_starts", rows}, {"position_ids", rows}, {"other", rows}};

  const ForwardInputs made = token_inputs(batch);

  EXPECT_EQ(made.inputs.size(), 1U);
  EXPECT_EQ(made.shared.size(), 2U);
  EXPECT_TRUE(made.shared.contains("document_starts"));
}

}  // namespace
}  // namespace d9d
