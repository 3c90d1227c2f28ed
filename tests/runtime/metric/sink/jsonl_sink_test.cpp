#include "runtime/metric/sink/jsonl_sink.hpp"

#include <cmath>
#include <numbers>

#include "runtime/base/error.hpp"
#include "tests/runtime/metric/sink/one_pixel.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

class Jsonl : public SinkFolder {
 protected:
  std::filesystem::path path() const { return folder_ / "metrics.jsonl"; }
  static void one_step(JsonlRun& run, std::int64_t step, double loss) {
    run.write({"loss", step}, Scalar{loss});
    run.end_step(step);
  }
};

TEST_F(Jsonl, CollectsTheValuesOfAStepIntoOneLine) {
  JsonlRun run(path(), 0);

  run.write({"loss", 1}, Scalar{2.5});
  run.write({"tokens", 1}, Scalar{1024, true});
  run.write({"accuracy", 1, {{"stage", "train"}}}, Scalar{0.25});
  EXPECT_EQ(content(path()), "");
  run.end_step(1);

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":2.5,\"tokens\":1024,\"train/accuracy\":0.25}\n");
}

// An evaluation that the run before owes comes after the resumed step's line was written.
TEST_F(Jsonl, ALateValueOfTheResumedStepJoinsItsLine) {
  {
    JsonlRun before(path(), 0);
    for (const std::int64_t step : {1, 2, 3}) one_step(before, step, 0.1 * static_cast<double>(step));
  }
  JsonlRun run(path(), 2);
  run.write({"evaluation/loss", 2}, Scalar{3.5});
  run.end_step(2);
  one_step(run, 3, 7.0);

  EXPECT_EQ(content(path()),
            "{\"step\":1,\"loss\":0.1}\n{\"step\":2,\"loss\":0.2,\"evaluation/loss\":3.5}\n"
            "{\"step\":3,\"loss\":7.0}\n");
}

TEST_F(Jsonl, KeepsEveryBitOfADouble) {
  const double value = std::numbers::pi / 1e10;
  JsonlRun run(path(), 0);

  one_step(run, 1, value);

  EXPECT_EQ(nlohmann::json::parse(content(path())).at("loss").get<double>(), value);
}

TEST_F(Jsonl, HasHistogramsTextsAndThePathsOfPictures) {
  JsonlRun run(path(), 0);

  run.write({"gradient", 1}, Histogram{.counts = {3, 5}, .edges = {-2, 0, 8}});
  run.write({"samples/first", 1}, TextRecord{"In the \"beginning\""});
  run.write({"map", 1}, Picture{test::png_of_one_pixel()});
  run.end_step(1);

  const auto line = nlohmann::json::parse(content(path()));
  EXPECT_EQ(line["gradient"], (nlohmann::json{{"edges", {-2.0, 0.0, 8.0}}, {"counts", {3.0, 5.0}}}));
  EXPECT_EQ(line["samples/first"], "In the \"beginning\"");
  EXPECT_EQ(content(folder_ / line["map"]["picture"].get<std::string>()), test::png_of_one_pixel());
}

TEST_F(Jsonl, WritesWhatIsNoNumberAsNull) {
  JsonlRun run(path(), 0);

  one_step(run, 1, std::nan(""));

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":null}\n");
}

TEST_F(Jsonl, PutsALateValueIntoTheLineOfItsStep) {
  JsonlRun run(path(), 0);
  one_step(run, 1, 0.5);
  one_step(run, 2, 0.25);

  run.write({"accuracy", 1}, Scalar{0.75});
  run.end_step(2);

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":0.5,\"accuracy\":0.75}\n{\"step\":2,\"loss\":0.25}\n");
}

TEST_F(Jsonl, LeavesNoRestWhenALineBecomesShorter) {
  JsonlRun run(path(), 0);
  one_step(run, 1, 0.123456789);

  one_step(run, 1, 0.5);

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":0.5}\n");
}

TEST_F(Jsonl, PutsAStepThatCameLateInItsPlace) {
  JsonlRun run(path(), 0);
  one_step(run, 1, 0.5);
  one_step(run, 3, 0.125);

  one_step(run, 2, 0.25);

  EXPECT_EQ(content(path()),
            "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.25}\n{\"step\":3,\"loss\":0.125}\n");
}

TEST_F(Jsonl, LeavesOutValuesOfLinesThatAreLongClosed) {
  JsonlRun run(path(), 0);
  for (int step = 1; step <= 100; ++step) one_step(run, step, 0.5);
  const std::string before = content(path());

  run.write({"accuracy", 3}, Scalar{1});
  run.flush();

  EXPECT_EQ(content(path()), before);
}

TEST_F(Jsonl, ContinuesARunAsIfItHadNotBeenKilled) {
  {
    JsonlRun whole(folder_ / "whole.jsonl", 0);
    for (int step = 1; step <= 6; ++step) one_step(whole, step, 1.0 / step);
  }
  {
    JsonlRun killed(path(), 0);
    for (int step = 1; step <= 5; ++step) one_step(killed, step, step <= 3 ? 1.0 / step : 77);
  }

  for (const int checkpoint : {3, 4}) {
    JsonlRun resumed(path(), checkpoint);
    for (int step = checkpoint + 1; step <= 6; ++step) one_step(resumed, step, 1.0 / step);
  }

  EXPECT_EQ(content(path()), content(folder_ / "whole.jsonl"));
}

TEST_F(Jsonl, RepairsATornLastLine) {
  put(path(), "{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo");
  JsonlRun run(path(), 2);

  one_step(run, 3, 0.5);

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":2}\n{\"step\":3,\"loss\":0.5}\n");
}

TEST_F(Jsonl, EndsALastLineThatOnlyLacksItsEnd) {
  put(path(), "{\"step\":1,\"loss\":2}");
  JsonlRun run(path(), 1);

  one_step(run, 2, 0.5);

  EXPECT_EQ(content(path()), "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":0.5}\n");
}

TEST_F(Jsonl, KeepsWhatAnEarlierRunMeasuredUnderAnotherNameWhenThereIsNoCheckpoint) {
  for (const char* earlier :
       {"{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n", "{\"step\":1,\"loss\":3}\n"}) {
    put(path(), earlier);
    const JsonlRun run(path(), 0);
    EXPECT_EQ(content(path()), "");
  }

  const std::string name = path().filename();
  EXPECT_EQ(content(folder_ / ("old-1." + name)), "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n");
  EXPECT_EQ(content(folder_ / ("old-2." + name)), "{\"step\":1,\"loss\":3}\n");
}

// What is no JSON would end the reading of pandas.read_json(lines=True) and the like.
TEST_F(Jsonl, KeepsLinesThatAreNotItsOwnWhereReadersFindThem) {
  put(path(), "{\"note\":\"by hand\"}\nnot json\n{\"step\":9}\n");
  testing::internal::CaptureStderr();

  EXPECT_TRUE(purge_jsonl(path(), 5));
  EXPECT_FALSE(purge_jsonl(path(), 5));

  EXPECT_EQ(content(path()), "{\"note\":\"by hand\"}\n");
  EXPECT_EQ(content(path().string() + ".unreadable"), "not json\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("1 line in " + path().string() + " cannot be read as JSON and went to"));
}

TEST_F(Jsonl, SaysWhatALossOfPowerTookAndNotWhatAKillDid) {
  put(path(), "{\"step\":1}\n{\"step\":2,\"lo");
  testing::internal::CaptureStderr();
  purge_jsonl(path(), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "step 2 is computed again";

  put(path(), "{\"step\":1}\n{\"step\":2,\"lo");
  testing::internal::CaptureStderr();
  purge_jsonl(path(), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("loss of power"));
  EXPECT_EQ(content(path()), "{\"step\":1}\n");
}

TEST_F(Jsonl, GoesOnAtTheEndOfAFileThatAnotherProgramMovedOrCut) {
  JsonlRun run(path(), 0);
  one_step(run, 1, 1);
  one_step(run, 2, 2);
  testing::internal::CaptureStderr();

  std::filesystem::rename(path(), folder_ / "rotated.jsonl");
  one_step(run, 3, 3);
  EXPECT_EQ(content(path()), "{\"step\":3,\"loss\":3.0}\n");
  EXPECT_EQ(content(folder_ / "rotated.jsonl"), "{\"step\":1,\"loss\":1.0}\n{\"step\":2,\"loss\":2.0}\n");

  std::filesystem::resize_file(path(), 0);
  one_step(run, 4, 4);
  EXPECT_EQ(content(path()), "{\"step\":4,\"loss\":4.0}\n") << "no hole of zeros before it";

  std::ofstream(path(), std::ios::app) << "{\"note\":1}\n";
  one_step(run, 5, 5);
  EXPECT_EQ(content(path()), "{\"step\":4,\"loss\":4.0}\n{\"note\":1}\n{\"step\":5,\"loss\":5.0}\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("by another program while this job writes"));
}

TEST_F(Jsonl, LeavesNoTemporaryFiles) {
  put(path(), "{\"step\":1}\n{\"step\":2}\n");

  purge_jsonl(path(), 1);

  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Jsonl, AFlushMakesAStepThatHasNotEndedVisible) {
  JsonlRun run(path(), 0);
  one_step(run, 4, 1);
  run.write({"loss", 5}, Scalar{2});

  run.flush();

  EXPECT_THAT(content(path()), testing::HasSubstr("\"step\":5"));
}

TEST_F(Jsonl, NamesTheFileThatCannotBeOpened) {
  put(folder_ / "file", "");
  EXPECT_THAT(
      test::error_of([&] { JsonlRun run(folder_ / "file" / "metrics.jsonl", 0); }, ErrorKind::environment),
      testing::HasSubstr("file/metrics.jsonl"));
}

}  // namespace
}  // namespace d9d
