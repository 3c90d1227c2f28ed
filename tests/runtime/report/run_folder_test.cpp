#include "runtime/report/run_folder.hpp"

#include <gmock/gmock.h>

#include "runtime/state/checkpoint/manifest.hpp"
#include "tests/runtime/report/run_maker.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

TEST(RunFolder, HoldsWhatTheRunHasLeft) {
  test::RunMaker run;
  run.steps(3).started(0, test::job_of("tiny", 3));
  const auto folder = run.folder().path();
  std::filesystem::create_directories(folder / "traces");
  std::filesystem::create_directories(folder / "samples");
  for (const char* name :
       {"traces/trace.json.gz", "traces/trace-1.json.gz", "samples/step-2.txt", "samples.txt"})
    run.folder().write(name, "");
  std::filesystem::create_directories(folder / "checkpoints" / "save-30.tmp-abc");

  const RunFolder found = run.look();

  EXPECT_EQ(found.name, "tiny");
  EXPECT_EQ(found.curves.num_steps, 3U);
  EXPECT_EQ(found.key("/optimizer/lr"), 0.001);
  EXPECT_TRUE(found.key("/no/such/key").is_null());
  EXPECT_EQ(found.job_from, "run.jsonl");
  EXPECT_FALSE(found.is_running);
  EXPECT_THAT(found.trace->string(), EndsWith("traces/trace.json.gz"));
  EXPECT_EQ(found.other_traces.size(), 1U);
  EXPECT_EQ(found.samples.size(), 2U);
  ASSERT_EQ(found.checkpoints.size(), 1U);
  EXPECT_EQ(found.checkpoints[0].state, SaveState::unfinished);
}

TEST(RunFolder, TakesTheJobFromACheckpointOfAnEarlierVersion) {
  test::RunMaker run;
  run.steps(1);
  const auto save = run.folder() / "checkpoints" / "save-7";
  std::filesystem::create_directories(save);
  Manifest manifest{.step = 7};
  manifest.extra = nlohmann::json{{"job", test::job_of("earlier", 9)}}.dump();
  std::ofstream(save / manifest_name) << to_json(manifest);

  const RunFolder found = run.look();

  EXPECT_EQ(found.name, "earlier");
  EXPECT_EQ(found.job_from, "the manifest of save-7");
}

TEST(RunFolder, FollowsTheLastCheckpointToItsFolder) {
  test::RunMaker run;
  run.steps(1);
  const test::TemporaryFolder elsewhere;
  std::filesystem::create_directories(elsewhere / "save-4.tmp-x");
  run.folder().write("last_checkpoint", (elsewhere / "save-3").string() + "\n");

  const RunFolder found = run.look();

  EXPECT_EQ(found.checkpoint_folder, elsewhere.path().string());
  ASSERT_EQ(found.checkpoints.size(), 1U);
  EXPECT_EQ(found.checkpoints[0].step, 4U);
}

TEST(RunFolder, RefusesWhatIsNoRunAndSaysWhatToGive) {
  const test::TemporaryFolder folder;
  const auto refused = [](const std::filesystem::path& path) {
    return test::error_of([&] { look_at_run(PosixDisk(), path); }, ErrorKind::input);
  };

  EXPECT_THAT(refused(folder / "absent"), HasSubstr("absent is not there; give the folder of a run"));
  EXPECT_THAT(refused(folder.write("file", "")), HasSubstr("file is a file; give the folder of a run"));
  EXPECT_THAT(refused(folder.path()), AllOf(HasSubstr("is the folder of no run: it has no metrics.jsonl"),
                                            HasSubstr("Give output_dir of a job, which is runs/NAME")));
  std::filesystem::create_directories(folder / "one" / "traces");
  EXPECT_THAT(refused(folder.path()), AllOf(HasSubstr("holds 1 run: "), HasSubstr("/one; give one of them")));
}

}  // namespace
}  // namespace d9d::report
