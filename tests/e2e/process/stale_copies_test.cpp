// Two hosts with folders of their own, in which the same relative paths have other contents.
#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string rows = R"({"input_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9]})"
                         "\n";

class StaleCopies : public testing::Test {
 protected:
  void write_data(const std::string& more = {}) {
    std::string text;
    for (int i = 0; i < 16; ++i) text += rows;
    first_.folder().write("d.jsonl", text);
    second_.folder().write("d.jsonl", text + more);
  }
  // `wanted` tells the second host; the first one waits for a node with what it has itself.
  void expect_refused(const Words& words, const std::string& wanted) {
    const Words all = mesh(2, 1) + words + set("output_dir", (first_.folder() / "out").string());
    const auto first = first_.start(all + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
    const Words join{"--join", "127.0.0.1:" + port_of(*first)};
    const auto stale = second_.start(all + join);

    EXPECT_EQ(stale->wait(), 1);
    EXPECT_THAT(stale->err(),
                AllOf(HasSubstr("node 0 refused this node"), HasSubstr(wanted), HasSubstr("Copy it")));
    EXPECT_TRUE(first->running());
    const auto equal = first_.start(all + join);
    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(equal->wait(), 0) << equal->err();
  }

  const Words data_ = set("data",
                          "{source: token_lists, files: [d.jsonl], sequence_length: 8, samples: document, "
                          "epochs: as_needed}") +
                      set("trainer.schedule.total_steps", "2") + set("lr_scheduler", "null");
  TinyJob first_, second_;
};

TEST_F(StaleCopies, OfDataAreRefusedByName) {
  write_data(rows);
  expect_refused(data_, "data: d.jsonl has 688 bytes at node 0, 731 there");
}

TEST_F(StaleCopies, OfWeightsAreRefusedByName) {
  const Words short_run = set("trainer.schedule.total_steps", "2") + set("lr_scheduler", "null");
  for (TinyJob* host : {&first_, &second_}) {
    const Outcome made = host->run(named("source") + short_run + set("export_to", "exported") +
                                   set("trainer.determinism.base_seed", host == &first_ ? "1" : "2"));
    ASSERT_THAT(made, ends_well());
  }
  expect_refused(short_run + set("trainer.model_stage_factory", "{source_checkpoint: exported}"),
                 "trainer.model_stage_factory.source_checkpoint: model");
}

// Everything is equal but the folder.
TEST_F(StaleCopies, AreNoneWhereTheContentsAreEqual) {
  write_data();
  const Words all = mesh(2, 1) + data_ + set("output_dir", (first_.folder() / "out").string());
  const auto first = first_.start(all + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
  const auto second = second_.start(all + Words{"--join", "127.0.0.1:" + port_of(*first)});
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
}

}  // namespace
}  // namespace d9d::test
