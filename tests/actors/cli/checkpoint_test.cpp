#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "actors/cli/running_commands.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class CliCheckpoint : public testing::Test {
 protected:
  CliCheckpoint() {
    for (const std::uint64_t step : {10, 20}) test::save(disk_, checkpoints_, step);
  }

  test::Outcome call(const std::vector<std::string>& words) {
    return test::call(checkpoint_command(), words);
  }
  nlohmann::json json_of(std::vector<std::string> words) {
    words.emplace_back("--json");
    return nlohmann::json::parse(call(words).out);
  }

  const test::Scratch scratch_;
  const std::string checkpoints_ = scratch_ / "checkpoints";
  test::QuickDisk disk_;
};

TEST_F(CliCheckpoint, ListsStepTimeSizeAndStateOfARun) {
  std::filesystem::remove(checkpoints_ + "/save-20/rank-1.safetensors");
  disk_.make_directories(checkpoints_ + "/save-30.tmp-abc");

  const auto listed = call({"list", scratch_.path()});
  const auto json = json_of({"list", checkpoints_});

  EXPECT_THAT(listed, test::prints(
                          AllOf(ContainsRegex("save-30.tmp-abc +30 +20[0-9-]+T[0-9:]+Z +0B +0 +unfinished\n"),
                                ContainsRegex("save-20 +20 .* damaged: .*rank-1.safetensors is missing\n"),
                                ContainsRegex("save-10 +10 +20[0-9-]+T[0-9:]+Z +[0-9.]+kB +3 +complete\n"))));
  ASSERT_EQ(json["checkpoints"].size(), 3U);
  EXPECT_EQ(json["checkpoints"][2]["state"], "complete");
  EXPECT_EQ(json["checkpoints"][2]["step"], 10);
  EXPECT_EQ(json["checkpoints"][2]["files"], 3);
  EXPECT_EQ(json["checkpoints"][1]["state"], "damaged");
}

TEST_F(CliCheckpoint, VerifiesEveryCheckpointOfARunAndEndsWithOneWhereOneIsDamaged) {
  const auto good = call({"verify", scratch_.path()});
  test::flip_bit(checkpoints_ + "/save-10/rank-0.safetensors", 1);
  const auto bad = call({"verify", scratch_.path()});
  const auto only_good = call({"verify", checkpoints_ + "/save-20"});
  const auto json = json_of({"verify", checkpoints_});

  EXPECT_THAT(good, test::prints(ContainsRegex("save-20: good \\(2 files, 15 slices, [0-9.]+kB read\\)")));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("save-20: good"), HasSubstr("save-10: DAMAGED"),
                             HasSubstr("rank-0.safetensors: 1 tensor with wrong bytes\n"
                                       "    exp_avg_sq/model.norm.weight@0:3\n")));
  EXPECT_EQ(only_good.code, 0);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["checkpoints"][1]["findings"][0]["tensors"][0], "exp_avg_sq/model.norm.weight@0:3");
}

TEST_F(CliCheckpoint, VerifiesAFolderThatHasLostItsManifest) {
  std::filesystem::remove(checkpoints_ + "/save-10/manifest.json");

  const auto bad = call({"verify", checkpoints_ + "/save-10"});

  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("DAMAGED"), HasSubstr("manifest.json: ")));
}

TEST_F(CliCheckpoint, InspectsTheNewestCompleteOne) {
  std::filesystem::remove(checkpoints_ + "/save-20/rank-1.safetensors");

  EXPECT_THAT(call({"inspect", scratch_.path()}),
              test::prints(AllOf(HasSubstr("checkpoints/save-10\n"), HasSubstr("model.embed.weight"))));
  EXPECT_EQ(json_of({"inspect", checkpoints_ + "/save-10"})["facts"]["step"], 10);
}

TEST_F(CliCheckpoint, NamesWhatItCannotUse) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> table{
      {{"lst", "x"}, "unknown word lst; did you mean \"list\"?"},
      {{"list"}, "list|verify|inspect DIR is missing"},
      {{"list", "nowhere"}, "nowhere is not there; give the folder of a run"},
      {{"verify", "nowhere"}, "nowhere is not there; give a checkpoint"},
      {{"inspect", "nowhere"}, "nowhere is not there"},
      {{"list", checkpoints_ + "/save-10"}, "holds no checkpoint; give the folder of a run"},
      {{"verify", D9D_SOURCE_DIR "/tests/golden"}, "holds no checkpoint that was committed"},
      {{"inspect", D9D_SOURCE_DIR "/tests/golden"}, "holds no checkpoint that was committed"},
  };
  for (const auto& [words, text] : table) {
    EXPECT_THAT(call(words), test::is_refused(text)) << text;
  }
}

}  // namespace
}  // namespace d9d
