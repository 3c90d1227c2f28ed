#include "runtime/trace/record/recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/trace/record/scoped_span.hpp"

namespace d9d::trace {
namespace {

class CountingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return reads_ += 10; }
  std::int64_t wall_ns() const override { return 0; }

 private:
  mutable std::int64_t reads_ = 0;
};

TEST(Recorder, GivesBackWhatWasRecordedSortedByStart) {
  Recorder recorder;
  const Span late{.start_ns = 20, .end_ns = 30, .actor = recorder.actor("stage 1", 3), .step = 7};
  const Span early{.start_ns = 10, .end_ns = 15, .name = recorder.intern("2F3"), .stage = 2, .microbatch = 3};

  recorder.record(late);
  recorder.record(early);
  const Recording recording = recorder.drain();

  EXPECT_EQ(recording.spans, (std::vector{early, late}));
  EXPECT_EQ(recording.names, std::vector<std::string>{"2F3"});
  EXPECT_EQ(recording.actors, (std::vector<ActorName>{{"stage 1", 3}}));
  EXPECT_EQ(recording.lost, 0U);
}

TEST(Recorder, DrainsEachSpanOnceWhileSnapshotsSeeThemAll) {
  Recorder recorder;

  recorder.record({.start_ns = 1});
  EXPECT_EQ(recorder.drain().spans.size(), 1U);
  recorder.record({.start_ns = 2});

  EXPECT_EQ(recorder.drain().spans.size(), 1U);
  EXPECT_TRUE(recorder.drain().spans.empty());
  EXPECT_EQ(recorder.snapshot().spans.size(), 2U);
}

TEST(FlowId, OfNodesAndOfProcessesThatDoNotKnowTheirsNeverMeet) {
  Recorder first({.node = 0}), second({.node = unknown_node, .random = 12}),
      third({.node = unknown_node, .random = 13});
  std::set<std::uint64_t> flows;
  for (Recorder* recorder : {&first, &second, &third}) {
    for (int i = 0; i < 100; ++i) flows.insert(recorder->next_flow());
  }

  second.set_node(1);
  third.set_node(2);
  for (Recorder* recorder : {&first, &second, &third}) {
    for (int i = 0; i < 100; ++i) flows.insert(recorder->next_flow());
  }

  EXPECT_EQ(flows.size(), 600U);
  EXPECT_EQ(node_of_flow(second.next_flow()), 1);
  EXPECT_FALSE(node_of_flow(Recorder({.node = unknown_node, .random = 5}).next_flow()).has_value());
  EXPECT_THROW(first.set_node(num_nodes_max), Error);
}

TEST(Recorder, NamesItsNodeOnceItKnowsIt) {
  Recorder recorder({.node = unknown_node});
  recorder.record({.actor = recorder.actor("node/0")});

  recorder.set_node(3);

  EXPECT_EQ(recorder.snapshot().actors.at(0).node, 3);
}

TEST(Recorder, OverwritesTheOldestSpansAndCountsThem) {
  Recorder recorder({.spans_per_thread = 8});

  for (int i = 0; i < 20; ++i) recorder.record({.start_ns = i, .end_ns = i});
  const Recording recording = recorder.drain();

  ASSERT_EQ(recording.spans.size(), 7U);
  EXPECT_EQ(recording.spans.front().start_ns, 13);
  EXPECT_EQ(recording.spans.back().start_ns, 19);
  EXPECT_EQ(recording.lost, 13U);
}

TEST(Recorder, LeavesOutOfAllThreadsWhatStartedBeforeTheBusiestOneIsWhole) {
  Recorder recorder({.spans_per_thread = 8});
  const std::uint32_t steps = recorder.actor(steps_track, 0), stage = recorder.actor("stage", 0);

  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t start = 100 * step + 20 * i;
      recorder.record({.start_ns = start, .end_ns = start + 20, .actor = stage, .step = step});
    }
    std::jthread([&] {
      recorder.record({.start_ns = 100 * step, .end_ns = 100 * step + 80, .actor = steps, .step = step});
    });
  }
  const Recording recording = recorder.snapshot();

  // The stage's ring holds 2F1 to the end, whole from the
  // end of 2F1 (at 240) on: step 3 is the first whole one.
  std::vector<int> kept;
  for (const Span& span : recording.spans) {
    if (span.actor == steps) kept.push_back(span.step);
  }
  EXPECT_EQ(kept, std::vector<int>{3});
  EXPECT_EQ(recording.spans.size() + recording.lost, 20U);
}

TEST(Recorder, RefusesACapacityThatIsNoPowerOfTwo) {
  EXPECT_THROW(Recorder({.spans_per_thread = 1000}), Error);
}

TEST(Recorder, KeepsTheSpansOfThreadsThatEnded) {
  Recorder recorder;
  const std::uint32_t name = recorder.intern("work");

  for (int i = 0; i < 4; ++i) {
    std::jthread([&] { recorder.record({.start_ns = i, .name = name}); });
  }

  EXPECT_EQ(recorder.drain().spans.size(), 4U);
}

TEST(Recorder, ServesTwoRecordersOnOneThreadWithoutMixingThem) {
  Recorder a, b;

  for (int i = 0; i < 3; ++i) {
    a.record({.start_ns = i});
    b.record({.start_ns = 100 + i});
  }

  EXPECT_EQ(a.drain().spans.back().start_ns, 2);
  EXPECT_EQ(b.drain().spans.front().start_ns, 100);
}

TEST(Recorder, IsNotConfusedByARecorderThatDied) {
  for (int i = 0; i < 50; ++i) {
    Recorder recorder;
    recorder.record({.start_ns = i});
    const Recording recording = recorder.drain();

    ASSERT_EQ(recording.spans.size(), 1U);
    ASSERT_EQ(recording.spans[0].start_ns, i);
  }
}

TEST(Recorder, CarriesCountersBesideTheSpans) {
  Recorder recorder;
  const std::uint32_t track = recorder.actor("stage 0", 0), name = recorder.intern("mailbox");

  recorder.counter(track, name, 2.5, 77);
  const Span counter = recorder.drain().spans.at(0);

  EXPECT_EQ(counter.category, Category::counter);
  EXPECT_EQ(counter.value(), 2.5);
  EXPECT_EQ(counter.start_ns, 77);
}

TEST(Recorder, GivesFlowIdsThatAreUniqueOverThreadsAndNodes) {
  Recorder first({.node = 0}), second({.node = 1});
  std::mutex mutex;
  std::set<std::uint64_t> flows;
  const auto draw = [&](Recorder& recorder) {
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t flow = recorder.next_flow();
      const std::lock_guard lock(mutex);
      flows.insert(flow);
    }
  };

  {
    const std::jthread a([&] { draw(first); }), b([&] { draw(first); }), c([&] { draw(second); });
  }

  EXPECT_EQ(flows.size(), 300U);
  EXPECT_FALSE(flows.contains(0));
}

// Every word of a span is the same number, so a torn copy shows itself.
TEST(Recorder, NeverShowsATornSpanToAReaderThatRacesTheWriter) {
  Recorder recorder({.spans_per_thread = 64});
  std::atomic<bool> done{false};
  const auto whole = [](std::int64_t i) {
    return Span{.enqueue_ns = i,
                .start_ns = i,
                .end_ns = i,
                .bytes = static_cast<std::uint64_t>(i),
                .flow_in = static_cast<std::uint64_t>(i),
                .flow_out = static_cast<std::uint64_t>(i),
                .actor = static_cast<std::uint32_t>(i)};
  };

  std::jthread writer([&] {
    for (std::int64_t i = 0; i < 200'000; ++i) recorder.record(whole(i));
    done = true;
  });
  std::uint64_t seen = 0, lost = 0;
  std::int64_t last = -1;
  bool torn = false, in_order = true;
  for (bool final_round = false; !final_round;) {
    final_round = done;
    const Recording recording = recorder.drain();
    for (const Span& span : recording.spans) {
      torn |= span != whole(span.start_ns);
      in_order &= span.start_ns > last;
      last = span.start_ns;
    }
    seen += recording.spans.size();
    lost += recording.lost;
  }

  EXPECT_FALSE(torn);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(seen + lost, 200'000U);
  EXPECT_EQ(last, 199'999);
}

TEST(ScopedSpan, TakesStartAndEndFromTheClockAndNothingElse) {
  Recorder recorder;
  const CountingClock clock;

  {
    ScopedSpan scope(&recorder, clock, {.name = recorder.intern("2F3"), .category = Category::compute});
    scope.span().bytes = 64;
  }
  const Span span = recorder.drain().spans.at(0);

  EXPECT_EQ(span.start_ns, 10);
  EXPECT_EQ(span.end_ns, 20);
  EXPECT_EQ(span.bytes, 64U);
}

TEST(ScopedSpan, DoesNotReadTheClockWhenThereIsNoRecorder) {
  const CountingClock clock;

  {
    ScopedSpan scope(nullptr, clock, {});
    EXPECT_EQ(scope.flow(), 0U);
  }

  EXPECT_EQ(clock.now_ns(), 10);
}

TEST(ScopedSpan, StampsOneFlowOnAllItsMessages) {
  Recorder recorder;
  const CountingClock clock;
  std::uint64_t flow = 0;

  {
    ScopedSpan scope(&recorder, clock, {});
    flow = scope.flow();
    EXPECT_EQ(scope.flow(), flow);
  }

  EXPECT_EQ(recorder.drain().spans.at(0).flow_out, flow);
}

TEST(NameCache, GivesTheIdsOfItsRecorder) {
  Recorder recorder;
  NameCache names(&recorder);

  EXPECT_EQ(names("a"), recorder.intern("a"));
  EXPECT_EQ(names("b"), recorder.intern("b"));
  EXPECT_EQ(names("a"), recorder.intern("a"));
  EXPECT_EQ(NameCache(nullptr)("a"), 0U);
}

TEST(Recorder, KeepsTheLastLateSpansBesideTheRings) {
  Recorder recorder({.spans_per_thread = 4, .late_spans_max = 3});
  const Span mine{.start_ns = 5, .end_ns = 6, .category = Category::compute};
  recorder.record(mine);
  std::vector<Span> late;
  for (int at = 1; at <= 5; ++at)
    late.push_back({.start_ns = 10 * at, .end_ns = 10 * at + 1, .category = Category::kernel});

  recorder.record_late(late);

  EXPECT_EQ(recorder.snapshot().spans.size(), 4U) << "none of the ring's is gone";
  const Recording drained = recorder.drain();
  EXPECT_EQ(drained.spans, (std::vector{mine, late[2], late[3], late[4]}));
  EXPECT_EQ(drained.lost, 2U);
  EXPECT_TRUE(recorder.drain().spans.empty());
  recorder.record_late({late[3]});
  EXPECT_EQ(recorder.drain().spans, std::vector{late[3]}) << "there is room again";
}

}  // namespace
}  // namespace d9d::trace
