#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

TEST(EmbeddingInference, ReadsTheLastTokenOfEachText) {
  const test::TemporaryFolder folder;
  const EmbeddingInference task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl));
  const at::Tensor labels = at::full({4, 4}, ignored_label, at::kLong);  // say nothing of it
  TensorMap batch{{"input_ids", at::ones({4, 4}, at::kLong)}, {"labels", labels}};
  const auto chosen = [&] { return task.build_forward_inputs({1, 0, batch}).shared.at("pooling_mask"); };

  EXPECT_TRUE(chosen().select(1, 3).equal(at::ones({4}, at::kLong)));
  EXPECT_EQ(chosen().sum().item<std::int64_t>(), 4);
  // Of three tokens, of as many as the row, of one, and of none.
  batch["token_mask"] =
      at::tensor({1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0}, at::kLong).view({4, 4}).to(at::kBool);
  const at::Tensor expected =
      at::tensor({0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, at::kLong).view({4, 4});
  EXPECT_TRUE(chosen().equal(expected)) << chosen();
}

// Of a packed row the first one of each document.
TEST(EmbeddingInference, ReadsTheFirstTokenWhereItIsAskedTo) {
  const test::TemporaryFolder folder;
  const EmbeddingInference task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), true);
  TensorMap batch{{"input_ids", at::ones({1, 7}, at::kLong)},
                  {"token_mask", at::tensor({1, 1, 1, 1, 1, 0, 0}, at::kLong).view({1, 7}).to(at::kBool)}};
  const auto chosen = [&] { return task.build_forward_inputs({1, 0, batch}).shared.at("pooling_mask"); };

  EXPECT_TRUE(chosen().equal(at::tensor({1, 0, 0, 0, 0, 0, 0}, at::kLong).view({1, 7})));
  batch["document_starts"] = at::tensor({0, 0, 0, 3, 3, 5, 5}, at::kLong).view({1, 7});
  EXPECT_TRUE(chosen().equal(at::tensor({1, 0, 0, 1, 0, 0, 0}, at::kLong).view({1, 7})));
}

TEST(EmbeddingInference, WritesTheVectorOfEachSampleAndNoneOfRowsThatFillUp) {
  const test::TemporaryFolder folder;
  EmbeddingInference task(make_results({folder.path() / "results", 2}, ResultFormat::jsonl));
  const TensorMap outputs{{"embeddings", at::arange(6, at::kFloat).view({3, 2}).div(2)}};

  const TensorMap state{{"vectors_of_rows", at::tensor({1, 1, 0, 1}, at::kLong)}};
  task.process_outputs({1, 0, outputs, state, {8, -1, 7, 9}});
  task.finalize();

  EXPECT_EQ(read_whole_file(folder.path() / "results" / "00002.jsonl"),
            R"({"sample":8,"embedding":[0.0,0.5]})"
            "\n"
            R"({"sample":9,"embedding":[2.0,2.5]})"
            "\n");
}

// Documents of three tokens and one, then two places that fill the row up.
TEST(EmbeddingInference, OfPackedRowsHasAVectorForEachDocument) {
  const test::TemporaryFolder folder;
  EmbeddingInference task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl));
  const at::Tensor starts = at::tensor({0, 0, 0, 3, 4, 4}, at::kLong).view({1, 6});
  const at::Tensor mask = at::tensor({1, 1, 1, 1, 0, 0}, at::kLong).view({1, 6}).to(at::kBool);
  const TensorMap batch{
      {"input_ids", at::ones({1, 6}, at::kLong)}, {"token_mask", mask}, {"document_starts", starts}};

  const ForwardInputs made = task.build_forward_inputs({1, 0, batch});
  EXPECT_TRUE(made.shared.contains("document_starts"));
  EXPECT_TRUE(made.shared.at("pooling_mask").equal(at::tensor({0, 0, 1, 1, 0, 0}, at::kLong).view({1, 6})));
  const TensorMap outputs{{"embeddings", at::arange(2, at::kFloat).view({2, 1})}};
  task.process_outputs({1, 0, outputs, made.state, {4}});
  task.finalize();

  EXPECT_EQ(read_whole_file(folder.path() / "results" / "00000.jsonl"),
            R"({"sample":4,"document":0,"embedding":[0.0]})"
            "\n"
            R"({"sample":4,"document":1,"embedding":[1.0]})"
            "\n");
}

}  // namespace
}  // namespace d9d
