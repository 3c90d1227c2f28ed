#include "runtime/data/stream_reader.hpp"

#include <gmock/gmock.h>

#include "runtime/data/source/stream_source.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Replica r of n gives the numbers r, r + n, r + 2 n ... below the end.
class Numbers final : public SampleStream {
 public:
  explicit Numbers(std::int64_t end) : end_(end) {}
  std::int64_t sequence_length() const override { return 1; }
  void begin(const StreamPlace& place) override {
    next_ = place.replica;
    stride_ = place.replicas;
  }
  std::optional<Sample> next() override {
    if (next_ >= end_) return std::nullopt;
    Sample sample{{next_}, {next_}};
    next_ += stride_;
    return sample;
  }
  nlohmann::json state() const override { return next_; }
  void load_state(const nlohmann::json& state) override { next_ = state; }

 private:
  const std::int64_t end_;
  std::int64_t next_ = 0, stride_ = 1;
};

StreamReader reader_of(const StreamPlace& place, const std::vector<nlohmann::json>& states = {},
                       std::int64_t end = 11) {
  return {std::make_shared<Numbers>(end), place, states};
}

std::vector<std::int64_t> taken(StreamReader& reader, std::size_t count) {
  std::vector<std::int64_t> numbers;
  for (const Sample& sample : reader.take(count)) numbers.push_back(sample.input_ids.at(0));
  return numbers;
}

TEST(StreamReader, ReadsSteps) {
  StreamReader reader = reader_of({1, 2});

  ASSERT_TRUE(reader.read_step(2));
  EXPECT_THAT(taken(reader, 1), ElementsAre(1));
  EXPECT_THAT(taken(reader, 1), ElementsAre(3));
  ASSERT_TRUE(reader.read_step(2));
  EXPECT_THAT(taken(reader, 2), ElementsAre(5, 7));
}

// LOOP-91 and CORE-36: the state is that of the step handed out last, not of what was read ahead.
TEST(StreamReader, GoesOnAfterTheStepOfItsStateAlthoughItHadReadFurther) {
  StreamReader first = reader_of({0, 2}), second = reader_of({1, 2});
  first.read_step(2);
  second.read_step(2);
  const auto saved = {nlohmann::json::parse(second.state()), nlohmann::json::parse(first.state()),
                      nlohmann::json::parse(first.state())};  // two ranks have replica 0

  const auto states = states_of_streams(saved);
  StreamReader again = reader_of({1, 2}, states);

  EXPECT_THAT(states, ElementsAre(4, 5));
  again.read_step(2);
  EXPECT_THAT(taken(again, 2), ElementsAre(5, 7));
}

TEST(StreamReader, KnowsTheLastWholeStep) {
  StreamReader reader = reader_of({0, 1}, {}, 5);

  ASSERT_TRUE(reader.read_step(2));
  EXPECT_FALSE(reader.is_last());
  ASSERT_TRUE(reader.read_step(2));
  EXPECT_TRUE(reader.is_last());
  EXPECT_FALSE(reader.read_step(2)) << "one sample is left";
}

TEST(StreamReader, RefusesTheStatesOfAnotherNumberOfReplicas) {
  EXPECT_THAT(test::error_of(
                  [] {
                    reader_of({0, 1}, {4, 5});
                  },
                  ErrorKind::input),
              HasSubstr("has the states of 2 data replicas, and this job has 1"));
}

TEST(StreamSource, OpensStreamsAndHasNoNumbers) {
  const StreamSource source([] { return std::make_shared<Numbers>(3); });

  EXPECT_EQ(source.sequence_length(), 1);
  EXPECT_NE(source.open_stream(), source.open_stream());
  EXPECT_THAT(test::error_of([&] { source.at(7); }, ErrorKind::input), HasSubstr("there is no sample 7"));
}

}  // namespace
}  // namespace d9d
