#include "runtime/job/reading/job_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/base/config/parse.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class JobTree : public testing::Test {
 protected:
  void SetUp() override { ::setenv("HOME", "/home/me", 1); }
  std::string settled(const std::string& text) {
    config::Node root = config::parse(text, "job.yaml");
    settle_tree(root, problems);
    return config::to_json(root).dump();
  }
  config::Problems problems;
};

TEST_F(JobTree, HomeStandsInAllKeysThatNameFiles) {
  EXPECT_EQ(settled("{output_dir: ~/runs, data: {files: [~/a.txt, ~/b/*.txt], tokenizer: ~/t.json}}"),
            R"({"data":{"files":["/home/me/a.txt","/home/me/b/*.txt"],"tokenizer":"/home/me/t.json"},)"
            R"("output_dir":"/home/me/runs"})");
  EXPECT_EQ(settled("evaluation: {data: {sources: [{source: megatron, prefix: ~/x}]}}"),
            R"({"evaluation":{"data":{"sources":[{"prefix":"/home/me/x","source":"megatron"}]}}})");
  EXPECT_EQ(settled("plugins: [~/p.so]"), R"({"plugins":["/home/me/p.so"]})");
  EXPECT_THAT(problems.errors(), IsEmpty());
}

TEST_F(JobTree, TextsStay) {
  EXPECT_EQ(
      settled("{trainer: {run: {name: ~/r, description: $HOME}}, data: {roles: {user: {prefix: ~/}}}}"),
      R"({"data":{"roles":{"user":{"prefix":"~/"}}},"trainer":{"run":{"description":"$HOME","name":"~/r"}}})");
  EXPECT_THAT(problems.errors(), IsEmpty());
}

TEST_F(JobTree, VariablesInPathsAreProblemsOfTheirKeys) {
  settled("data:\n  files: [a, $DATA/b]");
  ASSERT_EQ(problems.errors().size(), 1U);
  EXPECT_THAT(config::to_string(problems.errors()[0]),
              HasSubstr("job.yaml:2:14: data.files.1: $DATA/b: variables"));
}

TEST_F(JobTree, KeysForAnchorsAreIgnoredAtTheTopLevel) {
  EXPECT_EQ(settled("{x-text: &t {tokenizer: t}, data: {<<: *t, x-y: 1}}"),
            R"({"data":{"tokenizer":"t","x-y":1}})");
}

}  // namespace
}  // namespace d9d
