#include "runtime/metric/sink/tensorboard_sink.hpp"

#include "runtime/base/error.hpp"
#include "tests/runtime/metric/sink/event_reader.hpp"
#include "tests/runtime/metric/sink/one_pixel.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"

namespace d9d {
namespace {

using Tensorboard = SinkFolder;

// RFC 3720, appendix B.4: CRC-32C of 32 zeros, 32 ones, 0..31, and the usual check value of "123456789".
TEST(Crc32c, GivesThePublishedKnownAnswers) {
  std::string counting;
  for (char i = 0; i < 32; ++i) counting.push_back(i);

  EXPECT_EQ(event_file::crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(event_file::crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(event_file::crc32c(counting), 0x46DD794EU);
  EXPECT_EQ(event_file::crc32c("123456789"), 0xE3069283U);
}

TEST_F(Tensorboard, StartsItsFileWithTheVersionAndTheSession) {
  const TensorboardRun run({folder_, "host-a", 7}, clock_);
  const auto events = parse_events(content(run.path()));

  EXPECT_EQ(run.path().filename(), "events.out.tfevents.1700000000.host-a");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(field(events[0], 3).bytes, "brain.Event:2");
  EXPECT_EQ(field(events[0], 1).as_double(), 1'700'000'000.5);
  EXPECT_EQ(field(events[1], 2).number, 8U);
  EXPECT_EQ(field(parse_message(field(events[1], 7).bytes), 1).number, 1U);
}

TEST_F(Tensorboard, WritesScalarsWithStepTimeAndContext) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"loss", 300, {{"stage", "train"}}}, Scalar{2.5});
  run.end_step(300);
  const auto event = parse_events(content(run.path())).at(2);

  EXPECT_EQ(field(event, 2).number, 300U);
  EXPECT_EQ(field(summary_value(event), 1).bytes, "train/loss");
  EXPECT_EQ(field(summary_value(event), 2).as_float(), 2.5F);
}

TEST_F(Tensorboard, WritesHistogramsWithTheirBins) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"tokens_per_expert", 1}, Histogram{{3, 0, 5}});
  run.flush();
  const auto bins = parse_message(field(summary_value(parse_events(content(run.path())).at(2)), 5).bytes);

  EXPECT_EQ(field(bins, 2).as_double(), 3.0);
  EXPECT_EQ(field(bins, 3).as_double(), 8.0);
  EXPECT_EQ(parse_packed(field(bins, 6).bytes), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(parse_packed(field(bins, 7).bytes), (std::vector<double>{3, 0, 5}));
}

TEST_F(Tensorboard, WritesHistogramsWithEdgesOfTheirOwn) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"gradient", 1}, Histogram{.counts = {3, 5}, .edges = {-2, 0, 8}});
  run.flush();
  const auto bins = parse_message(field(summary_value(parse_events(content(run.path())).at(2)), 5).bytes);

  EXPECT_EQ(field(bins, 1).as_double(), -2.0);
  EXPECT_EQ(field(bins, 2).as_double(), 8.0);
  EXPECT_EQ(field(bins, 4).as_double(), 3 * -1.0 + 5 * 4.0);
  EXPECT_EQ(parse_packed(field(bins, 6).bytes), (std::vector<double>{0, 8}));
}

TEST_F(Tensorboard, WritesTextsAndPictures) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"samples/first", 4}, TextRecord{"In the beginning"});
  run.write({"map", 4}, Picture{test::png_of_one_pixel()});
  run.flush();
  const auto events = parse_events(content(run.path()));

  EXPECT_EQ(field(summary_value(events.at(2)), 1).bytes, "samples/first");
  EXPECT_EQ(field(parse_message(field(summary_value(events.at(2)), 8).bytes), 8).bytes, "In the beginning");
  const auto image = parse_message(field(summary_value(events.at(3)), 4).bytes);
  EXPECT_EQ(field(image, 1).number, 1U);
  EXPECT_EQ(field(image, 2).number, 1U);
  EXPECT_EQ(field(image, 4).bytes, test::png_of_one_pixel());
}

TEST_F(Tensorboard, WritesSettingsAsATable) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.hparams({{"run", {{"name", "a|b"}, {"seed", 1}}}});
  const auto value = summary_value(parse_events(content(run.path())).at(3));

  EXPECT_EQ(field(parse_message(field(parse_message(field(value, 9).bytes), 1).bytes), 1).bytes, "text");
  EXPECT_EQ(field(parse_message(field(value, 8).bytes), 8).bytes,
            "| name | value |\n| --- | --- |\n| run/name | a\\|b |\n| run/seed | 1 |\n");
}

TEST_F(Tensorboard, GivesSettingsToTheDashboardOfHyperparametersWithTheirTypes) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.hparams({{"a", "adamw"}, {"b", {{"lr", 0.25}}}, {"c", true}});
  const auto value = summary_value(parse_events(content(run.path())).at(2));
  const auto plugin = parse_message(field(parse_message(field(value, 9).bytes), 1).bytes);
  const auto session = parse_message(field(parse_message(field(plugin, 2).bytes), 3).bytes);
  const auto [begin, end] = session.equal_range(1);
  std::vector<WireMessage> entries;
  for (auto entry = begin; entry != end; ++entry) entries.push_back(parse_message(entry->second.bytes));
  const auto setting = [&](std::size_t i) { return parse_message(field(entries.at(i), 2).bytes); };

  EXPECT_EQ(field(value, 1).bytes, "_hparams_/session_start_info");
  EXPECT_EQ(field(plugin, 1).bytes, "hparams");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(field(setting(0), 3).bytes, "adamw");
  EXPECT_EQ(field(entries[1], 1).bytes, "b/lr");
  EXPECT_EQ(field(setting(1), 2).as_double(), 0.25);
  EXPECT_EQ(field(setting(2), 4).number, 1U);
}

// Every event has its time, and fp32 would round seconds since 1970 to minutes.
TEST_F(Tensorboard, HasNoCurveOfTheTimeOfDay) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"time", 1}, Scalar{.value = 1.7e9, .is_time = true});
  run.end_step(1);

  EXPECT_EQ(parse_events(content(run.path())).size(), 2U) << "the version and the session";
}

TEST_F(Tensorboard, OpensALaterFileEvenWithinTheSameSecond) {
  const TensorboardRun first({folder_, "h", 0}, clock_), second({folder_, "h", 3}, clock_);

  EXPECT_LT(first.path().string(), second.path().string());
}

TEST_F(Tensorboard, KeepsValuesToItselfUntilTheStepEnds) {
  TensorboardRun run({folder_, "h", 0}, clock_);

  run.write({"loss", 1}, Scalar{1});
  const std::size_t before = parse_events(content(run.path())).size();
  run.end_step(1);

  EXPECT_EQ(before, 2U);
  EXPECT_EQ(parse_events(content(run.path())).size(), 3U);
}

TEST_F(Tensorboard, DoesNotTakeValuesAfterItsEnd) {
  TensorboardRun run({folder_, "h", 0}, clock_);
  run.close();

  EXPECT_THROW(run.write({"loss", 1}, Scalar{1}), Error);
}

}  // namespace
}  // namespace d9d
