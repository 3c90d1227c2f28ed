#include "runtime/state/checkpoint/checkpoint_survey.hpp"

#include <cerrno>
#include <filesystem>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<SaveSummary>& saves) {
  std::vector<std::string> names;
  for (const auto& save : saves) names.push_back(save.name);
  return names;
}

TEST(CheckpointSurvey, TellsWhatIsCompleteDamagedAndUnfinishedNewestFirst) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {10, 20, 30}) test::save(disk, scratch.path(), step);
  std::filesystem::rename(scratch / "save-30", scratch / "save-30.tmp-abc");
  std::filesystem::remove(scratch / "save-20/rank-1.safetensors");
  disk.make_directories(scratch / "save-none");
  disk.make_directories(scratch / "save-40.tmp");

  const auto saves = survey_checkpoints(disk, scratch.path());

  ASSERT_THAT(names_of(saves), ElementsAre("save-30.tmp-abc", "save-20", "save-10"));
  EXPECT_EQ(saves[0].state, SaveState::unfinished);
  EXPECT_EQ(saves[0].step, 30U);
  EXPECT_EQ(saves[1].state, SaveState::damaged);
  EXPECT_THAT(saves[1].problem, HasSubstr("rank-1.safetensors is missing"));
  EXPECT_EQ(saves[2].state, SaveState::complete);
  EXPECT_EQ(saves[2].num_files, 3U) << "two shards and the manifest";
  std::uint64_t bytes = 0;
  for (const auto& entry : disk.list(scratch / "save-10")) bytes += entry.size;
  EXPECT_EQ(saves[2].bytes, bytes);
}

TEST(CheckpointSurvey, ListsWhatCannotBeReadBesideTheOthers) {
  const test::Scratch scratch;
  test::UnreadableDisk disk("save-20/", EACCES);
  PosixDisk real;
  for (const std::uint64_t step : {10, 20}) test::save(real, scratch.path(), step);

  const auto saves = survey_checkpoints(disk, scratch.path());

  ASSERT_THAT(names_of(saves), ElementsAre("save-20", "save-10"));
  EXPECT_EQ(saves[0].state, SaveState::damaged);
  EXPECT_THAT(saves[0].problem, HasSubstr("Permission denied"));
  EXPECT_EQ(saves[1].state, SaveState::complete);
}

TEST(CheckpointSurvey, TakesTheFolderOfARunForItsFolderOfCheckpoints) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  test::save(disk, scratch / "checkpoints", 10);

  EXPECT_EQ(saves_folder(disk, scratch.path()), scratch / "checkpoints");
  EXPECT_EQ(saves_folder(disk, scratch / "checkpoints"), scratch / "checkpoints");
  EXPECT_THAT(test::error_of([&] { saves_folder(disk, scratch / "nowhere"); }),
              HasSubstr("nowhere is not there; give the folder of a run"));
}

TEST(CheckpointSurvey, FollowsARunWithASaveDirToItsCheckpoints) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  test::save(disk, scratch / "elsewhere/r", 10);
  disk.make_directories(scratch / "runs/r");
  write_text(disk, scratch / "runs/r/last_checkpoint", scratch / "elsewhere/r/save-10" + "\n");

  EXPECT_EQ(saves_folder(disk, scratch / "runs/r"), scratch / "elsewhere/r");
}

TEST(CheckpointSurvey, FindsTheNewestCheckpointThatCanBeUsed) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  disk.make_directories(scratch / "empty");
  for (const std::uint64_t step : {10, 20}) test::save(disk, scratch.path(), step);
  std::filesystem::remove(scratch / "save-20/rank-0.safetensors");

  EXPECT_EQ(checkpoint_in(disk, scratch.path(), Check::sizes), scratch / "save-10");
  EXPECT_EQ(checkpoint_in(disk, scratch / "save-20", Check::sizes), scratch / "save-20") << "named, so taken";
  EXPECT_THAT(test::error_of([&] { checkpoint_in(disk, scratch / "empty", Check::sizes); }),
              HasSubstr("holds no checkpoint that was committed"));
  std::filesystem::remove(scratch / "save-10/manifest.json");
  EXPECT_THAT(test::error_of([&] { checkpoint_in(disk, scratch.path(), Check::sizes); }),
              HasSubstr("2 checkpoints in "));
}

}  // namespace
}  // namespace d9d
