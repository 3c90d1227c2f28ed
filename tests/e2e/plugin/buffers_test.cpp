// Buffers of a user's model: in the checkpoint once, and back on every rank bit for bit.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

Words centred(const std::string& keys = "") {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_buffers_plugin.so]") +
         set("model_provider", "{name: centred_lm" + keys + "}");
}
Words steps(int count) {
  return set("trainer.schedule.total_steps", std::to_string(count));
}

class Buffers : public testing::Test {
 protected:
  void SetUp() override { job_.rewrite("{period_steps: last_step}", "{period_steps: 3}"); }

  Outcome run(const std::string& name, const Words& words, const std::string& keys = "") {
    Outcome outcome = job_.run(named(name) + centred(keys) + steps(6) + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  // As a kill between the two checkpoints leaves it.
  void forget_last_checkpoint(const std::string& name) {
    std::filesystem::remove_all(job_.run_folder(name) / "checkpoints/save-6");
  }
  void expect_goes_on_bit_for_bit(const std::string& name, const Words& words) {
    run(name, words);
    const auto whole = job_.exact_curve(name);
    ASSERT_EQ(whole.size(), 6) << name;

    forget_last_checkpoint(name);
    const Outcome rest = run(name, words);

    EXPECT_THAT(rest.err, HasSubstr("resuming from runs/" + name + "/checkpoints/save-3"));
    EXPECT_EQ(job_.exact_curve(name), whole) << name;
  }
  // "name in file" of each buffer of the last checkpoint.
  std::vector<std::string> saved(const std::string& name) {
    std::ifstream file(job_.run_folder(name) / "checkpoints/save-6/manifest.json");
    std::vector<std::string> buffers;
    const auto manifest = nlohmann::json::parse(file);
    for (const auto& entry : manifest.at("tensors")) {
      if (entry.at("kind") != "buffer") continue;
      buffers.push_back(entry.at("name").get<std::string>() + " in " + entry.at("file").get<std::string>());
    }
    return buffers;
  }
  // What the ranks told of their buffers before the first step.
  static std::multiset<std::string> beginnings(const Outcome& outcome) {
    std::multiset<std::string> found;
    std::istringstream in(outcome.err);
    for (std::string line; std::getline(in, line);) {
      if (line.find(" begins with ") != std::string::npos) found.insert(line);
    }
    return found;
  }

  TinyJob job_;
};

TEST_F(Buffers, AResumedRunGoesOnBitForBit) {
  expect_goes_on_bit_for_bit("alone", {});
  expect_goes_on_bit_for_bit("stages_and_replicas", mesh(2, 2));
  expect_goes_on_bit_for_bit("beside_training", mesh(1, 2) + set("node.device", "delayed"));
}

// The next forward changes them: that it waits shows when it does not.
TEST_F(Buffers, AreCopiedForACheckpointBeforeTheNextForward) {
  const auto job = job_.start(named("late") + centred() + steps(6) + set("node.device", "delayed"),
                              {{"D9D_SKIP_WAIT", "delayed: compute waits for delayed: copy_out in "}});

  EXPECT_EQ(job->wait(), 1);
  EXPECT_THAT(job->err(), HasSubstr("delayed:0 copy_out in a snapshot"));
}

TEST_F(Buffers, AreWrittenByTheFirstRankOfTheirStage) {
  run("replicas", mesh(2, 2));

  EXPECT_THAT(saved("replicas"), UnorderedElementsAre(HasSubstr("layers.0.mean in rank-00000"),
                                                      HasSubstr("layers.0.batches in rank-00000"),
                                                      HasSubstr("layers.1.mean in rank-00002"),
                                                      HasSubstr("layers.1.batches in rank-00002")));
}

TEST_F(Buffers, AreTheSameAfterAResumeOnAnotherMesh) {
  run("tiny", mesh(2, 1));
  forget_last_checkpoint("tiny");
  std::filesystem::copy(job_.run_folder("tiny"), job_.run_folder("other"),
                        std::filesystem::copy_options::recursive);

  const auto same_mesh = beginnings(run("tiny", mesh(2, 1)));
  const auto other_mesh = beginnings(run("other", mesh(1, 2)));

  EXPECT_THAT(same_mesh, AllOf(SizeIs(2), Each(EndsWith(" after 12 batches"))))
      << "three steps of four batches";
  EXPECT_THAT(other_mesh, SizeIs(4));
  for (const std::string& layer : same_mesh) EXPECT_EQ(other_mesh.count(layer), 2) << layer;
}

TEST_F(Buffers, OfACheckpointAndOfTheModelHaveToBeTheSame) {
  run("tiny", {});
  run("counted", {}, ", counts_tokens: true");
  const auto expect_refused = [&](const std::string& name, const std::string& keys, const std::string& text) {
    EXPECT_THAT(job_.run(named(name) + centred(keys) + steps(9)), is_refused(text));
  };

  expect_refused("tiny", ", counts_tokens: true", "save-6 has no buffer tokens");
  expect_refused("counted", "", "tensors but the job's model and optimizer take");
}

TEST_F(Buffers, AreExportedAndLoadedWithTheWeights) {
  run("tiny", set("export_to", "model"));
  const Outcome source = job_.run(named("next") + centred() + steps(6) +
                                  set("trainer.model_stage_factory.source_checkpoint", "model"));
  const Outcome resumed = job_.run(named("tiny") + centred() + steps(7));

  ASSERT_EQ(source.code, 0) << source.err;
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(beginnings(source), AllOf(SizeIs(2), Each(EndsWith(" after 24 batches"))));
  EXPECT_EQ(beginnings(source), beginnings(resumed));
}

}  // namespace
}  // namespace d9d::test
