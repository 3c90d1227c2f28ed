// Of every family: documents in one row give the losses and gradients that they give one by one.
#include "runtime/nn/model/document_starts.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/next_tokens.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

class PackedDocuments : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, PackedDocuments,
                         testing::Values("dense_tied", "dense_bias_yarn", "moe_mixed",
                                         "dense_families/llama_bias_tied", "dense_families/qwen2",
                                         "dense_families/mistral_window", "dense_families/qwen3_window",
                                         "sparse_families/mixtral", "sparse_families/qwen2_moe_mixed",
                                         "sparse_families/gpt_oss", "sparse_families/gpt_oss_both_ways",
                                         "latent_families/deepseek_v3", "latent_families/deepseek_v3_plain",
                                         "qwen3_next/every_fourth", "gemma3_text/published",
                                         "gemma3_text/capped", "dense_families/llama_both_ways",
                                         "dense_families/mistral_window_both_ways", "gemma3_text/both_ways",
                                         "modernbert/modernbert", "multi_token_prediction/two_depths"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

// Where in a row of `length` tokens documents begin: three of different lengths, and one of a single token.
std::vector<std::int64_t> beginnings(std::int64_t length, std::int64_t row) {
  return {0, length / 3 + row, length / 3 + row + 1, length - 4, length};
}

// The losses of a batch, backward of their sum.
at::Tensor train_on(StageModule& stage, const GoldenModel& golden, TensorMap batch) {
  add_next_tokens(batch, golden.model->prediction_depths);
  const TensorMap inputs{{"input_ids", batch.at("input_ids")}};
  const at::Tensor losses = stage.forward(inputs, batch).at("cross_entropy");
  run_backward(losses.sum());
  return losses.detach();
}

TEST_P(PackedDocuments, TrainAsOneByOne) {
  const GoldenModel golden = golden_model(GetParam());
  const at::Tensor ids = golden.inputs.at("input_ids");
  const std::int64_t rows = ids.size(0), length = ids.size(1);
  const auto alone = stage_of(golden), packed = stage_of(golden);
  const at::Tensor labels = at::full({rows, length}, -100, at::kLong),
                   starts = at::zeros({rows, length}, at::kLong), expected = at::zeros({rows, length});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begins = beginnings(length, row);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      const std::int64_t first = begins[i], count = begins[i + 1] - first;
      starts[row].narrow(0, first, count).fill_(first);
      labels[row].narrow(0, first, count - 1).copy_(ids[row].narrow(0, first + 1, count - 1));
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, row, 1).narrow(1, first, count); };
      const at::Tensor losses = train_on(
          *alone, golden, {{"input_ids", part(ids).contiguous()}, {"labels", part(labels).contiguous()}});
      part(expected).copy_(losses);
    }
  }

  const at::Tensor losses = train_on(*packed, golden,
                                     {{"input_ids", ids},
                                      {"labels", labels},
                                      {"position_ids", at::arange(length, at::kLong) - starts},
                                      {"document_starts", starts}});

  EXPECT_LT(relative_difference(losses, expected), 1e-5);
  EXPECT_NEAR(losses.sum().item<double>(), expected.sum().item<double>(),
              1e-6 * expected.sum().item<double>());
  const TensorMap wanted = gradients_of(*alone);
  for (const auto& [name, gradient] : gradients_of(*packed)) {
    EXPECT_LT(relative_difference(gradient, wanted.at(name)), 1e-4) << name;
  }
}

TEST(DocumentStarts, AreNoneWhereRowsAreOneDocument) {
  const at::Tensor positions = at::zeros({2, 4}, at::kLong);

  EXPECT_FALSE(document_starts({}, positions, false).defined());
  EXPECT_FALSE(
      document_starts({{"document_starts", at::zeros({2, 4}, at::kLong)}}, positions, false).defined());
}

// Rows of 2 + 3 tokens behind 1 and before 2 that fill the row up, and of 8.
TEST(DocumentStarts, Mod10WhatFillsARowUpIsADocumentOfItsOwn) {
  const at::Tensor positions = at::zeros({2, 8}, at::kLong);
  const at::Tensor starts =
      at::tensor({0, 0, 0, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0}, at::kLong).view({2, 8});
  const at::Tensor mask = at::ones({2, 8}, at::kBool);

  EXPECT_TRUE(starts_without_filling(starts, {{"token_mask", mask}}, positions, true).equal(starts));
  EXPECT_FALSE(starts_without_filling({}, {}, positions, false).defined());
  mask[0][0] = false;
  mask[0].narrow(0, 6, 2).fill_(false);

  const TensorMap shared{{"token_mask", mask}};
  EXPECT_TRUE(starts_without_filling(starts, shared, positions, false)[0].equal(
      at::tensor({0, 1, 1, 3, 3, 3, 6, 6}, at::kLong)));
  EXPECT_TRUE(starts_without_filling({}, shared, positions, false)[0].equal(
      at::tensor({0, 1, 1, 1, 1, 1, 6, 6}, at::kLong)));
  EXPECT_TRUE(starts_without_filling(starts, shared, positions, true).equal(starts))
      << "the feed has done it";
}

TEST(DocumentStarts, AreRefusedWhereTheyAreNone) {
  const at::Tensor positions = at::zeros({1, 4}, at::kLong), starts = at::zeros({1, 4}, at::kLong);
  starts[0][2] = 1;
  const auto error = [&](const at::Tensor& given) {
    return error_of(
        [&] {
          document_starts({{"document_starts", given}}, positions, false);
        },
        ErrorKind::input);
  };

  EXPECT_THAT(error(starts), testing::HasSubstr("document_starts is 1 at position 2 of row 0, expected 2"));
  EXPECT_THAT(error(at::zeros({1, 8}, at::kLong)), testing::HasSubstr("for 1 x 4 tokens"));
}

}  // namespace
}  // namespace d9d::test
