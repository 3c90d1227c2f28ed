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
  at::Tensor labels = at::full({3, 4}, ignored_label, at::kLong);
  labels[0].slice(0, 0, 2).fill_(7);  // a text of three tokens, filled up
  labels[1].fill_(7);                 // a window of a longer text
  const TensorMap batch{{"input_ids", at::ones({3, 4}, at::kLong)}, {"labels", labels}};

  const ForwardInputs made = task.build_forward_inputs({1, 0, batch});

  const at::Tensor expected = at::tensor({0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0}, at::kLong).view({3, 4});
  EXPECT_TRUE(made.shared.at("pooling_mask").equal(expected)) << made.shared.at("pooling_mask");
}

// Of a packed row the first one of each document.
TEST(EmbeddingInference, ReadsTheFirstTokenWhereItIsAskedTo) {
  const test::TemporaryFolder folder;
  const EmbeddingInference task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), true);
  const at::Tensor labels = at::tensor({7, 7, 7, 7, -100, -100, -100}, at::kLong).view({1, 7});
  TensorMap batch{{"input_ids", at::ones({1, 7}, at::kLong)}, {"labels", labels}};
  const auto chosen = [&] { return task.build_forward_inputs({1, 0, batch}).shared.at("pooling_mask"); };

  EXPECT_TRUE(chosen().equal(at::tensor({1, 0, 0, 0, 0, 0, 0}, at::kLong).view({1, 7})));
  batch["document_starts"] = at::tensor({0, 0, 0, 3, 3, 5, 5}, at::kLong).view({1, 7});
  EXPECT_TRUE(chosen().equal(at::tensor({1, 0, 0, 1, 0, 0, 0}, at::kLong).view({1, 7})));
}

TEST(EmbeddingInference, WritesTheVectorOfEachSampleAndNoneOfRowsThatFillUp) {
  const test::TemporaryFolder folder;
  EmbeddingInference task(make_results({folder.path() / "results", 2}, ResultFormat::jsonl));
  const TensorMap outputs{{"embeddings", at::arange(6, at::kFloat).view({3, 2}).div(2)}};

  task.process_outputs({1, 0, outputs, {}, {8, -1, 9}});
  task.finalize();

  EXPECT_EQ(read_whole_file(folder.path() / "results" / "00002.jsonl"),
            R"({"sample":8,"embedding":[0.0,0.5]})"
            "\n"
            R"({"sample":9,"embedding":[2.0,2.5]})"
            "\n");
}

// Documents of three and two tokens, then two places that fill the row up.
TEST(EmbeddingInference, OfPackedRowsHasAVectorForEachDocument) {
  const test::TemporaryFolder folder;
  EmbeddingInference task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl));
  const at::Tensor starts = at::tensor({0, 0, 0, 3, 3, 5, 5}, at::kLong).view({1, 7});
  const at::Tensor labels = at::tensor({7, 7, 7, 7, -100, -100, -100}, at::kLong).view({1, 7});
  const TensorMap batch{
      {"input_ids", at::ones({1, 7}, at::kLong)}, {"labels", labels}, {"document_starts", starts}};

  const ForwardInputs made = task.build_forward_inputs({1, 0, batch});
  EXPECT_TRUE(made.shared.contains("document_starts"));
  EXPECT_TRUE(
      made.shared.at("pooling_mask").equal(at::tensor({0, 0, 1, 0, 1, 0, 0}, at::kLong).view({1, 7})));
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
