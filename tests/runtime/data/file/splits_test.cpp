#include "runtime/data/file/splits.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(Splits, AreToldByTheLastNameThatHasOne) {
  EXPECT_EQ(split_of_name("train.jsonl"), "train");
  EXPECT_EQ(split_of_name("data/test/part-0.jsonl"), "test");
  EXPECT_EQ(split_of_name("test/train-1.jsonl"), "train");
  EXPECT_EQ(split_of_name("validation2-00000.parquet"), "validation");
  EXPECT_EQ(split_of_name("training_run/trainer.jsonl"), "train");
  EXPECT_EQ(split_of_name("contest.jsonl"), std::nullopt);
  EXPECT_EQ(split_of_name("pretrain.jsonl"), std::nullopt);
}

}  // namespace
}  // namespace d9d
