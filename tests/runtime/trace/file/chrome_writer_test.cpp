#include <algorithm>
#include <fstream>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/trace/file/chrome_reader.hpp"
#include "runtime/trace/file/chrome_writer.hpp"
#include "runtime/trace/file/track_order.hpp"
#include "tests/runtime/trace/trace_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/trace/trace_rules.hpp"

namespace d9d::trace {
namespace {

using ::nlohmann::json;

class Chrome : public TraceFolder {
 protected:
  // Stage 0 of rank 0 sends an activation to stage 1 of rank 1, which waits 2 us in the mailbox there.
  static Recording two_stages() {
    Recording recording;
    recording.names = {"batch_ready", "0F0", "activation_ready", "depth", "step"};
    recording.actors = {{"stage 0", 0, 0}, {"stage 1", 1, 0}, {"steps", 0, 0}};
    recording.spans = {
        {.start_ns = 1'000, .end_ns = 90'000, .actor = 2, .name = 4, .step = 7, .category = Category::step},
        {.start_ns = 2'000, .end_ns = 12'345, .flow_out = ~0ULL, .actor = 0, .name = 0, .step = 7},
        {.start_ns = 3'000,
         .end_ns = 10'000,
         .actor = 0,
         .name = 1,
         .step = 7,
         .stage = 0,
         .microbatch = 0,
         .category = Category::compute},
        {.enqueue_ns = 11'000,
         .start_ns = 13'000,
         .end_ns = 20'001,
         .bytes = 4096,
         .flow_in = ~0ULL,
         .actor = 1,
         .name = 2,
         .step = 7,
         .stage = 1,
         .microbatch = 0},
        {.start_ns = 14'000,
         .end_ns = 14'000,
         .bytes = std::bit_cast<std::uint64_t>(2.5),
         .actor = 1,
         .name = 3,
         .category = Category::counter},
    };
    return recording;
  }
};

TEST_F(Chrome, DrawsATrackPerActorInAProcessPerRank) {
  ChromeWriter writer(file(), {.job = "j"});
  writer.add(two_stages(), 0, "host-a");
  writer.finish();
  const json document = parsed(file());

  std::vector<std::string> names;
  for (const json& event : events(document, "M")) {
    if (event.at("args").contains("name")) names.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0 (node 0, host-a)", "steps", "stage 0",
                                             "rank 1 (node 0, host-a)", "stage 1"}));
}

TEST_F(Chrome, WritesNanosecondsAsMicrosecondsWithoutLoss) {
  ChromeWriter writer(file(), {.base_ns = 1'000});
  writer.add(two_stages());
  writer.finish();
  const json slices = events(parsed(file()), "X");

  EXPECT_EQ(slices.at(1).at("ts"), 1.0);
  EXPECT_EQ(slices.at(1).at("dur"), 10.345);
  EXPECT_EQ(slices.at(3).at("args").at("queue_us"), 2.0);
  EXPECT_EQ(slices.at(3).at("args").at("bytes"), 4096);
}

TEST_F(Chrome, NamesStepsAsProfilersDo) {
  ChromeWriter writer(file(), {});
  writer.add(two_stages());
  writer.finish();

  EXPECT_EQ(events(parsed(file()), "X").at(0).at("name"), "ProfilerStep#7");
}

TEST_F(Chrome, JoinsSenderAndReceiverWithAnArrowThatLeavesWhenTheMessageWasSent) {
  ChromeWriter writer(file(), {});
  writer.add(two_stages());
  writer.finish();
  const json document = parsed(file());
  const json start = events(document, "s").at(0), finish = events(document, "f").at(0);

  EXPECT_EQ(start.at("id"), finish.at("id"));
  EXPECT_EQ(start.at("ts"), 11.0);
  EXPECT_EQ(start.at("pid"), 1);
  EXPECT_EQ(finish.at("ts"), 13.0);
  EXPECT_EQ(finish.at("pid"), 2);
  EXPECT_EQ(finish.at("bp"), "e");
}

// Clocks of nodes that drift apart leave a rest that no offset takes away.
TEST_F(Chrome, DrawsNoArrowThatGoesBackInTime) {
  Recording late = two_stages(), impossible = two_stages();
  late.spans[3].start_ns = 1'000;  // handled before the span that sent it began, and still at work then
  impossible.spans[1].flow_out = impossible.spans[3].flow_in = 5;
  impossible.spans[3].start_ns = 1'000;
  impossible.spans[3].end_ns = 1'500;

  ChromeWriter writer(file(), {});
  writer.add(late);
  writer.add(impossible);
  writer.finish();
  const json document = parsed(file());
  const json starts = events(document, "s"), ends = events(document, "f");

  ASSERT_EQ(ends.size(), 1U);
  EXPECT_LE(starts.at(0).at("ts").get<double>(), ends.at(0).at("ts").get<double>());
  EXPECT_GE(starts.at(0).at("ts").get<double>(), 2.0) << "within the sender";
  EXPECT_LE(ends.at(0).at("ts").get<double>(), 20.001) << "within the receiver";
  EXPECT_EQ(document.at("d9d").at("arrows_left_out"), 1);
}

TEST_F(Chrome, GivesEverySliceItsStepAndMinusOneToThoseOfNone) {
  Recording recording = two_stages();
  recording.spans[1].step = -1;
  ChromeWriter writer(file(), {});
  writer.add(recording);
  writer.finish();

  const json slices = events(parsed(file()), "X");
  EXPECT_EQ(slices.at(1).at("args").at("step"), -1);
  EXPECT_EQ(slices.at(2).at("args").at("step"), 7);
}

TEST_F(Chrome, PutsTheTrainerAndTheComputationAboveTheRest) {
  const std::vector<std::string> wanted{
      "steps",           "trainer/0",          "compute stage 0",      "compute stage 10",
      "rank_executor/0", "gradients",          "tensor_lane/0-1.send", "collective/0",
      "loader/0",        "metric_collector/0", "something of a user"};
  std::vector<int> places;
  for (const std::string& name : wanted) places.push_back(track_order(name, 0));

  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_EQ(std::set<int>(places.begin(), places.end()).size(), places.size());
  EXPECT_LT(track_order("compute stage 2", 3), track_order("compute stage 10", 0));
}

TEST_F(Chrome, JoinsArrowsAcrossBatchesWhicheverComesFirst) {
  Recording receiver = two_stages(), sender = two_stages();
  receiver.spans = {receiver.spans[3]};
  sender.spans = {sender.spans[1]};

  ChromeWriter writer(file(), {});
  writer.add(receiver);
  writer.add(sender);
  writer.finish();
  const json document = parsed(file());

  EXPECT_EQ(events(document, "s").size(), 1U);
  EXPECT_EQ(document.at("d9d").at("unmatched_flows"), 0);
}

TEST_F(Chrome, MovesSlicesThatWouldCrossToALaneOfTheirOwn) {
  Recording recording;
  recording.names = {"reduce"};
  recording.actors = {{"collective", 0, 0}};
  recording.spans = {
      {.start_ns = 0, .end_ns = 100}, {.start_ns = 20, .end_ns = 50}, {.start_ns = 40, .end_ns = 120}};

  ChromeWriter writer(file(), {});
  writer.add(recording);
  writer.finish();
  const json slices = events(parsed(file()), "X");

  EXPECT_EQ(slices.at(0).at("tid"), slices.at(1).at("tid"));
  EXPECT_NE(slices.at(0).at("tid"), slices.at(2).at("tid"));
}

TEST_F(Chrome, ReadsBackEverySpanItWrote) {
  ChromeWriter writer(file(), {.job = "j", .node = 0, .world_size = 2, .base_ns = 500});
  writer.add(two_stages());
  writer.finish();
  const LoadedTrace loaded = read_chrome_trace(file());

  Recording expected = two_stages();
  ASSERT_EQ(loaded.recording.spans.size(), expected.spans.size());
  for (std::size_t i = 0; i + 1 < expected.spans.size(); ++i) {
    Span span = loaded.recording.spans[i];
    EXPECT_EQ(loaded.recording.actors.at(span.actor), expected.actors.at(expected.spans[i].actor));
    if (span.category != Category::step) {
      EXPECT_EQ(loaded.recording.names.at(span.name), expected.names.at(expected.spans[i].name));
    }
    span.actor = expected.spans[i].actor;
    span.name = expected.spans[i].name;
    EXPECT_EQ(span, expected.spans[i]) << "span " << i;
  }
  EXPECT_EQ(loaded.recording.spans.back().value(), 2.5);
  EXPECT_EQ(loaded.info.world_size, 2);
}

TEST_F(Chrome, KeepsHugeClockValuesExact) {
  const std::int64_t boot = 1'700'000'000'123'456'789;
  Recording recording{
      .spans = {{.start_ns = boot + 1, .end_ns = boot + 4}}, .names = {"x"}, .actors = {{"a", 0, 0}}};
  ChromeWriter writer(file(), {.base_ns = boot});
  writer.add(recording);
  writer.finish();

  EXPECT_EQ(read_chrome_trace(file()).recording.spans.at(0).start_ns, boot + 1);
}

TEST_F(Chrome, MergesNodesOnTheClockOfNodeZero) {
  Recording far{
      .spans = {{.start_ns = 5'000, .end_ns = 6'000}}, .names = {"x"}, .actors = {{"stage 9", 9, 1}}};
  ChromeWriter near_writer(file("0.json.gz"), {.node = 0});
  near_writer.add(two_stages());
  near_writer.finish();
  ChromeWriter far_writer(file("1.json.gz"), {.node = 1, .base_ns = 4'000});
  far_writer.add(far);
  far_writer.finish(-4'500, 30);

  const LoadedTrace all = merge({read_chrome_trace(file("0.json.gz")), read_chrome_trace(file("1.json.gz"))});

  EXPECT_EQ(all.recording.spans.at(0).start_ns, 500);
  EXPECT_EQ(all.recording.actors.at(all.recording.spans.at(0).actor), (ActorName{"stage 9", 9, 1}));
  EXPECT_EQ(all.recording.spans.size(), 6U);
  EXPECT_EQ(all.offset_error_ns, 30);
}

TEST_F(Chrome, LeavesNothingBehindWhenItIsNotFinished) {
  {
    ChromeWriter writer(file(), {});
    writer.add(two_stages());
  }

  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Chrome, EscapesNamesThatAreNotPlain) {
  Recording recording{
      .spans = {{.start_ns = 1, .end_ns = 2}}, .names = {"a \"b\"\n\xff"}, .actors = {{"t\\u", 0, 0}}};
  ChromeWriter writer(file(), {});
  writer.add(recording);
  writer.finish();

  EXPECT_EQ(events(parsed(file()), "X").at(0).at("name"), "a \"b\"\n\xEF\xBF\xBD");
}

TEST_F(Chrome, ExportsOneRankAsProfilerToolsExpectIt) {
  ChromeWriter writer(file(), {.world_size = 2}, KinetoRank{0});
  writer.add(two_stages());
  writer.finish();
  const json document = parsed(file());
  const json slices = events(document, "X");

  EXPECT_EQ(document.at("distributedInfo").at("rank"), 0);
  EXPECT_EQ(document.at("distributedInfo").at("world_size"), 2);
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(slices.at(0).at("cat"), "user_annotation");
  EXPECT_EQ(slices.at(1).at("cat"), "cpu_op");
  EXPECT_EQ(slices.at(2).at("cat"), "kernel");
  EXPECT_EQ(slices.at(2).at("args").at("stream"), 7);
}

TEST_F(Chrome, ExportsALoadedTraceRankByRank) {
  ChromeWriter writer(file(), {.world_size = 2});
  writer.add(two_stages());
  writer.finish();

  const auto paths = export_for_profilers(read_chrome_trace(file()), folder_ / "hta");

  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(parsed(paths.at(1)).at("distributedInfo").at("rank"), 1);
  EXPECT_EQ(events(parsed(paths.at(1)), "X").at(0).at("name"), "activation_ready");
  EXPECT_THROW(read_chrome_trace(paths.at(0)), Error);
}

TEST_F(Chrome, RefusesAFileThatIsNoTraceAndNamesIt) {
  std::ofstream(file("notes.txt")) << "hello";
  std::ofstream(file("other.json")) << R"({"traceEvents": []})";
  const auto message_of = [&](const std::string& name) {
    try {
      read_chrome_trace(file(name));
    } catch (const Error& error) {
      return std::string(name_of(error.kind())) + " " + error.what();
    }
    return std::string("no error");
  };

  EXPECT_THAT(message_of("notes.txt"),
              testing::AllOf(testing::StartsWith("input"), testing::HasSubstr("notes.txt")));
  EXPECT_THAT(message_of("other.json"), testing::HasSubstr("is no trace of d9d"));
  EXPECT_THAT(message_of("absent.json.gz"), testing::StartsWith("environment"));
  EXPECT_THAT(message_of("."), testing::HasSubstr("is a folder"));
}

TEST_F(Chrome, RefusesATraceThatWasCutShort) {
  ChromeWriter writer(file(), {});
  writer.add(two_stages());
  writer.finish();
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);

  EXPECT_THAT(test::error_of([&] { read_chrome_trace(file()); }), testing::HasSubstr("Copy it again"));
}

// What a reader may rely on is looked for in the file; so that the look itself is one, files that break it.
TEST_F(Chrome, KeepsTheRulesOfItsReaders) {
  Recording late = two_stages();
  late.spans[3].start_ns = 1'000;
  ChromeWriter writer(file(), {.job = "j"});
  writer.add(two_stages(), 0, "host-a");
  writer.add(late);
  writer.finish();

  EXPECT_THAT(test::broken_trace_rules(parsed(file())), testing::IsEmpty());
  for (const auto& path : export_for_profilers(read_chrome_trace(file()), folder_ / "profilers"))
    EXPECT_THAT(test::broken_trace_rules(parsed(path)), testing::IsEmpty()) << path;
}

TEST_F(Chrome, WhatBreaksARuleOfTheReadersIsFound) {
  const std::string named = R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"t"}},)";
  const auto broken = [&](const std::string& events) {
    return test::broken_trace_rules(json::parse("{\"traceEvents\":[" + named + events + "]}"));
  };
  const auto slice = [](const char* ts, const char* dur, const char* tid = "2") {
    return std::string(R"({"ph":"X","name":"a","pid":1,"tid":)") + tid + R"(,"ts":)" + ts + R"(,"dur":)" +
           dur + "}";
  };
  const auto flow = [](const char* phase, const char* ts) {
    return std::string(R"(,{"ph":")") + phase + R"(","bp":"e","name":"m","id":7,"pid":1,"tid":2,"ts":)" + ts +
           "}";
  };

  EXPECT_THAT(broken(slice("0", "5") + "," + slice("1", "2") + flow("s", "1") + flow("f", "2")),
              testing::IsEmpty());
  EXPECT_THAT(broken(slice("-1", "5")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "-5")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "5", "3")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "5") + "," + slice("3", "4")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "5") + flow("s", "3") + flow("f", "2")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "5") + flow("s", "3")), testing::SizeIs(1));
  EXPECT_THAT(broken(slice("0", "5") + flow("s", "3") + flow("f", "9")), testing::SizeIs(1));
}

TEST_F(Chrome, ReadsNamesThatComeBehindTheSlicesTheyName) {
  ChromeWriter writer(file(), {.job = "j"});
  writer.add(two_stages());
  writer.finish();
  json document = parsed(file());
  auto& events = document.at("traceEvents");
  std::stable_partition(events.begin(), events.end(),
                        [](const json& event) { return event.at("ph") != "M"; });
  std::ofstream(file("behind.json")) << document;

  const LoadedTrace before = read_chrome_trace(file()), behind = read_chrome_trace(file("behind.json"));

  ASSERT_EQ(behind.recording.spans.size(), before.recording.spans.size());
  for (std::size_t i = 0; i < before.recording.spans.size(); ++i)
    EXPECT_EQ(behind.recording.actors[behind.recording.spans[i].actor],
              before.recording.actors[before.recording.spans[i].actor]);
}

TEST_F(Chrome, RefusesTimesThatAreNone) {
  ChromeWriter writer(file(), {.job = "j"});
  writer.add(two_stages());
  writer.finish();
  const auto message_of = [&](const char* key, double value, const char* phase) {
    json document = parsed(file());
    for (json& event : document.at("traceEvents")) {
      if (event.at("ph") == phase) event[key] = value;
    }
    std::ofstream(file("changed.json")) << document;
    return test::error_of([&] { read_chrome_trace(file("changed.json")); });
  };

  EXPECT_THAT(message_of("dur", -3, "X"), testing::HasSubstr("a slice has dur -3.0; expected at least 0"));
  EXPECT_THAT(message_of("ts", 1e300, "X"),
              testing::HasSubstr("a slice has ts 1e+300; expected microseconds"));
  EXPECT_THAT(message_of("ts", -1e300, "C"), testing::HasSubstr("expected microseconds"));
  EXPECT_THAT(message_of("tid", 99, "X"), testing::HasSubstr("no thread_name says what tid 99"));
}

}  // namespace
}  // namespace d9d::trace
