#include "actors/trace_collector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "runtime/trace/file/chrome_reader.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

constexpr ActorId first_id{Role::trace_collector, 0};
constexpr ActorId second_id{Role::trace_collector, 1};
constexpr ActorId coordinator_id{Role::coordinator, 0};

// Two processes with clocks of their own; what the second tells the first is carried over by hand.
class TraceCollectorTest : public ::testing::Test {
 protected:
  TraceCollectorTest() {
    near.play<TraceCollector>(first_id, options(0));
    far.play<TraceCollector>(second_id, options(1));
  }

  TraceCollectorOptions options(int node) const {
    return {.node = node, .world_size = 2, .job = "job", .directory = folder};
  }
  static void record(trace::Recorder& recorder, const char* actor, int rank, const char* name,
                     std::int64_t start_ns, std::int32_t step = 1) {
    recorder.record({.start_ns = start_ns,
                     .end_ns = start_ns + 100,
                     .actor = recorder.actor(actor, rank),
                     .name = recorder.intern(name),
                     .step = step});
  }
  static void flush(ActorWorld& world, ActorId who, std::uint32_t nodes, std::int32_t from_step = -1,
                    const char* label = "") {
    world.say<wire::FlushTrace>(
        who,
        [&](wire::FlushTrace::Builder flush) {
          flush.setNodes(nodes);
          flush.setFromStep(from_step);
          flush.setLabel(label);
        },
        coordinator_id);
  }
  template <class T>
  static void carry(ActorWorld& from, ActorWorld& to, ActorId whom) {
    for (const auto& told : std::vector(from.told())) {
      if (told.type == capnp::typeId<T>() && told.header.receiver == whom) to.deliver(told.frame);
    }
    to.run();
  }
  trace::Span span_named(const trace::Recording& recording, const std::string& name) {
    for (const auto& span : recording.spans) {
      if (recording.names.at(span.name) == name) return span;
    }
    throw std::runtime_error("no span " + name);
  }

  const test::TemporaryFolder temporary;
  const std::string folder = temporary.path() / "traces";
  trace::Recorder near_recorder{{.node = 0}};
  trace::Recorder far_recorder{{.node = 1}};
  ActorWorld near{0, &near_recorder};
  ActorWorld far{0, &far_recorder};
};

TEST_F(TraceCollectorTest, MergesTheSpansOfTwoNodesIntoOneFile) {
  record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000);
  record(far_recorder, "rank_executor/1", 1, "1F0", 2'000'000'500);
  flush(near, first_id, 2);
  EXPECT_TRUE(near.heard<wire::TraceWritten>().empty()) << "one of two nodes is in";

  flush(far, second_id, 2);
  carry<wire::Spans>(far, near, first_id);

  const auto written = near.last<wire::TraceWritten>(coordinator_id);
  EXPECT_EQ(std::string(written->getFailure()), "");
  const auto trace = trace::read_chrome_trace(std::string(written->getPath()));
  EXPECT_EQ(span_named(trace.recording, "1F0").start_ns - span_named(trace.recording, "0F0").start_ns, 500);
}

TEST_F(TraceCollectorTest, SpansOfANodeWhoseClockIsOffAreMovedByTheMeasuredOffset) {
  far.clock().now += 1'000'000'000;  // ahead of node 0
  far.say<wire::StartTraining>(second_id, {Role::node, 1});
  carry<wire::ClockProbe>(far, near, first_id);
  carry<wire::ClockReply>(near, far, second_id);
  const std::int64_t now = near.clock().now;
  record(near_recorder, "rank_executor/0", 0, "0F0", now);
  record(far_recorder, "rank_executor/1", 1, "1F0", now + 1'000'000'000);
  flush(near, first_id, 2);
  flush(far, second_id, 2);
  carry<wire::Spans>(far, near, first_id);

  const auto trace = trace::read_chrome_trace(std::string(near.last<wire::TraceWritten>()->getPath()));

  EXPECT_EQ(span_named(trace.recording, "1F0").start_ns, span_named(trace.recording, "0F0").start_ns);
}

TEST_F(TraceCollectorTest, ProbesTheClockManyTimesAtOnceAndThenNowAndThen) {
  const auto probes = [&] { return far.heard<wire::ClockProbe>(first_id).size(); };
  near.say<wire::StartTraining>(first_id, {Role::node, 0});
  EXPECT_TRUE(near.heard<wire::ClockProbe>().empty()) << "the clock of node 0 is the job's";

  far.say<wire::StartTraining>(second_id, {Role::node, 1});
  for (int i = 0; i < 100; ++i) {
    far.say<wire::ClockReply>(
        second_id,
        [&](wire::ClockReply::Builder reply) {
          reply.setSentNs(far.clock().now);
          reply.setReceivedNs(far.clock().now);
        },
        first_id);
  }
  EXPECT_EQ(probes(), 16U);

  far.after(std::chrono::seconds(4));
  EXPECT_EQ(probes(), 18U);
}

// A message of 1000 ns in a job whose probes said nothing yet: by the two clocks it came an hour before it was sent.
TEST_F(TraceCollectorTest, NoArrowGoesBackInTimeWhateverTheClocksSay) {
  constexpr std::int64_t hour = 3'600'000'000'000;
  const std::uint64_t there = near_recorder.next_flow(), back = far_recorder.next_flow();
  const auto sent = [](trace::Recorder& recorder, std::int64_t ns, std::uint64_t flow) {
    recorder.record({.start_ns = ns - 10,
                     .end_ns = ns + 10,
                     .flow_out = flow,
                     .actor = recorder.actor("sender", 0),
                     .name = recorder.intern("Said"),
                     .step = 1});
  };
  const auto handled = [](trace::Recorder& recorder, std::int64_t sent_ns, std::int64_t ns,
                          std::uint64_t flow) {
    recorder.record({.enqueue_ns = sent_ns,
                     .start_ns = ns,
                     .end_ns = ns + 100,
                     .flow_in = flow,
                     .actor = recorder.actor("receiver", 0),
                     .name = recorder.intern("Heard"),
                     .step = 1,
                     .sent_elsewhere = true});
  };
  sent(near_recorder, 2 * hour, there);
  handled(far_recorder, 2 * hour, hour + 1'000, there);
  sent(far_recorder, hour + 5'000, back);
  handled(near_recorder, hour + 5'000, 2 * hour + 6'000, back);
  flush(near, first_id, 2);
  flush(far, second_id, 2);
  carry<wire::Spans>(far, near, first_id);

  const auto trace = trace::read_chrome_trace(std::string(near.last<wire::TraceWritten>()->getPath()));

  for (const trace::Span& span : trace.recording.spans) {
    if (span.flow_in == 0) continue;
    EXPECT_LE(span.enqueue_ns, span.start_ns);
    EXPECT_LE(span.start_ns - span.enqueue_ns, 2'000);
  }
  EXPECT_EQ(trace.offset_error_ns, 1'000) << "half of there and back";
}

TEST_F(TraceCollectorTest, ManySpansTravelInSeveralParts) {
  for (int i = 0; i < 10'000; ++i) record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000 + i);
  flush(near, first_id, 1);

  const auto parts = near.heard<wire::Spans>(first_id);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_FALSE(parts[0]->getLast());
  EXPECT_TRUE(parts[1]->getLast());
  EXPECT_EQ(near.heard<wire::TraceWritten>().size(), 1U);
}

TEST_F(TraceCollectorTest, SpansOfEarlierStepsAreLeftOutWhenAskedTo) {
  record(near_recorder, "rank_executor/0", 0, "old", 2'000'000'000, 3);
  record(near_recorder, "rank_executor/0", 0, "new", 2'000'000'200, 4);
  flush(near, first_id, 1, 4);

  const auto trace = trace::read_chrome_trace(std::string(near.last<wire::TraceWritten>()->getPath()));
  EXPECT_EQ(span_named(trace.recording, "new").step, 4);
  EXPECT_THROW(span_named(trace.recording, "old"), std::runtime_error);
}

TEST_F(TraceCollectorTest, ATraceOfAFewStepsHasAFileOfItsOwnAndTheCoordinatorHearsNothing) {
  record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000);
  flush(near, first_id, 1, -1, "step_4");

  EXPECT_TRUE(std::filesystem::exists(folder + "/step_4.trace.json.gz"));
  EXPECT_TRUE(near.heard<wire::TraceWritten>().empty());
}

TEST_F(TraceCollectorTest, AtTheDeadlineWhatHasComeInIsWritten) {
  record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000);
  near.say<wire::FlushTrace>(
      first_id,
      [](wire::FlushTrace::Builder flush) {
        flush.setNodes(2);
        flush.setFromStep(-1);
        flush.setDeadlineMs(3000);
      },
      coordinator_id);
  EXPECT_TRUE(near.heard<wire::TraceWritten>().empty());

  near.after(std::chrono::seconds(3));

  const auto written = near.last<wire::TraceWritten>(coordinator_id);
  EXPECT_EQ(std::string(written->getFailure()), "");
  const auto trace = trace::read_chrome_trace(std::string(written->getPath()));
  EXPECT_EQ(span_named(trace.recording, "0F0").step, 1);
}

TEST_F(TraceCollectorTest, AFlushOfSomeStepsThatIsNotCompleteIsNoPartOfTheJobsTrace) {
  record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000);
  flush(near, first_id, 2, -1, "step_4");
  flush(near, first_id, 1);

  const auto trace = trace::read_chrome_trace(std::string(near.last<wire::TraceWritten>()->getPath()));
  EXPECT_EQ(std::count_if(trace.recording.spans.begin(), trace.recording.spans.end(),
                          [&](const auto& span) { return trace.recording.names.at(span.name) == "0F0"; }),
            1);
}

TEST_F(TraceCollectorTest, AnEarlierTraceOfTheRunIsKept) {
  record(near_recorder, "rank_executor/0", 0, "0F0", 2'000'000'000);
  flush(near, first_id, 1);
  record(near_recorder, "rank_executor/0", 0, "second start", 3'000'000'000);
  flush(near, first_id, 1);

  const auto earlier = trace::read_chrome_trace(folder + "/trace-1.json.gz");
  EXPECT_THROW(span_named(earlier.recording, "second start"), std::runtime_error);
  EXPECT_NO_THROW(span_named(trace::read_chrome_trace(folder + "/trace.json.gz").recording, "second start"));
}

TEST_F(TraceCollectorTest, AFolderThatCannotBeMadeIsAFailureOfTheTraceAlone) {
  std::ofstream(folder) << "a file";
  flush(near, first_id, 1);

  EXPECT_NE(std::string(near.last<wire::TraceWritten>()->getFailure()).find(folder), std::string::npos);
  EXPECT_TRUE(near.heard<wire::Failed>().empty());
}

TEST_F(TraceCollectorTest, ASpanOfAnUnknownNameIsRefused) {
  near.say<wire::Spans>(
      first_id,
      [](wire::Spans::Builder spans) {
        trace::Span span{.name = 9};
        spans.setSpans({reinterpret_cast<const kj::byte*>(&span), sizeof span});
        spans.setLast(true);
        spans.setNodes(1);
      },
      second_id);

  EXPECT_NE(std::string(near.last<wire::Failed>()->getText()).find("unknown name"), std::string::npos);
}

}  // namespace
}  // namespace d9d
