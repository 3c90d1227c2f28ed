#include "runtime/data/rollout_reader.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Notes its calls. A prompt is its place and the step; a sample is the sum of its texts. Keeps the sum of all.
class Sums final : public RolloutStream {
 public:
  explicit Sums(RolloutOptions options) : options_(std::move(options)) {}
  std::int64_t sequence_length() const override { return 1; }
  void begin(const StreamPlace& place) override { replica_ = place.replica; }
  RolloutOptions options() const override { return options_; }
  std::vector<std::vector<std::int64_t>> prompts(const RolloutStep& step) override {
    calls.push_back("prompts " + std::to_string(step.step));
    firsts.push_back(step.first);
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t i = 0; i < step.samples * options_.texts_per_sample + more; ++i)
      all.push_back(empty ? std::vector<std::int64_t>()
                          : std::vector<std::int64_t>{i, static_cast<std::int64_t>(step.step)});
    return all;
  }
  std::vector<Sample> samples(const RolloutStep& step, std::span<const Rollout> texts) override {
    calls.push_back("samples " + std::to_string(step.step));
    std::vector<Sample> all(static_cast<std::size_t>(step.samples + fewer));
    for (std::size_t i = 0; i < texts.size() && fewer == 0; ++i) {
      Sample& sample = all[i / static_cast<std::size_t>(options_.texts_per_sample)];
      sample.input_ids.resize(1);
      sample.input_ids[0] += texts[i].text.at(0);
      sum_ += texts[i].text.at(0);
    }
    return all;
  }
  nlohmann::json state() const override { return sum_; }
  void load_state(const nlohmann::json& state) override { sum_ = state; }
  void load_states(const std::vector<nlohmann::json>& states, const StreamPlace& place) override {
    if (!deals_out) return RolloutStream::load_states(states, place);
    sum_ = 0;
    for (const auto& state : states) sum_ += state.get<std::int64_t>();
  }

  std::vector<std::string> calls;
  std::vector<std::uint64_t> firsts;
  std::int64_t more = 0, fewer = 0;
  bool empty = false, deals_out = false;

 private:
  const RolloutOptions options_;
  int replica_ = 0;
  std::int64_t sum_ = 0;
};

std::vector<WrittenText> texts_of(const std::vector<std::int64_t>& ids) {
  std::vector<WrittenText> texts;
  for (const std::int64_t id : ids) texts.push_back({{id}, {-0.1F}});
  return texts;
}

std::vector<std::int64_t> taken(RolloutReader& reader, std::size_t count) {
  std::vector<std::int64_t> sums;
  for (const Sample& sample : reader.take(count)) sums.push_back(sample.input_ids.at(0));
  return sums;
}

TEST(RolloutReader, MakesAStepsSamplesOfItsTexts) {
  const auto stream = std::make_shared<Sums>(RolloutOptions{.texts_per_sample = 2});
  RolloutReader reader(stream, {1, 2}, 2, 1, {});

  const auto asked = reader.ask(2);
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_THAT(asked[3].prompt, ElementsAre(3, 1));
  EXPECT_EQ(asked[3].number, 7U) << "2 samples before, of 2 texts each";
  EXPECT_EQ(reader.asked(), 1U);
  EXPECT_EQ(reader.written(), 0U);
  reader.write(texts_of({1, 2, 3, 4}));
  EXPECT_EQ(reader.written(), 1U);
  reader.read_step();

  EXPECT_THAT(taken(reader, 1), ElementsAre(3));
  EXPECT_THAT(taken(reader, 1), ElementsAre(7));
  EXPECT_EQ(reader.state(), R"({"replica":1,"state":{"pending":[],"stream":10}})");
}

// Prompts of two tokens.
TEST(RolloutReader, RefusesAPromptThatIsLongerThanItsStreamSays) {
  RolloutReader enough(std::make_shared<Sums>(RolloutOptions{.prompt_tokens_max = 2}), {}, 2, 1, {});
  EXPECT_EQ(enough.ask(0).size(), 2U);

  RolloutReader reader(std::make_shared<Sums>(RolloutOptions{.prompt_tokens_max = 1}), {}, 2, 1, {});
  EXPECT_THAT(test::error_of([&] { reader.ask(0); }, ErrorKind::input),
              HasSubstr("prompt 0 of step 1 has 2 tokens, more than prompt_tokens_max"));
}

TEST(RolloutReader, KeepsTextsThatAreNotUsedUpInItsState) {
  const RolloutOptions options{.lag = 1};
  const auto through = std::make_shared<Sums>(options);
  RolloutReader first(through, {}, 2, 1, {});
  first.ask(0);
  first.ask(2);
  first.write(texts_of({1, 2}));
  first.read_step();
  first.write(texts_of({3, 4}));
  const nlohmann::json saved = nlohmann::json::parse(first.state()).at("state");

  const auto resumed = std::make_shared<Sums>(options);
  RolloutReader second(resumed, {}, 2, 2, {saved});
  EXPECT_EQ(second.asked(), 2U);
  EXPECT_EQ(second.written(), 2U);
  for (RolloutReader* reader : {&first, &second}) {
    reader->ask(4);
    reader->read_step();
    reader->write(texts_of({5, 6}));
    EXPECT_THAT(taken(*reader, 2), ElementsAre(3, 4));
  }

  EXPECT_EQ(first.state(), second.state());
  EXPECT_THAT(through->calls, ElementsAre("prompts 1", "prompts 2", "samples 1", "prompts 3", "samples 2"));
  EXPECT_THAT(resumed->calls, ElementsAre("prompts 3", "samples 2"));
}

// Two replicas of one sample each become one of two.
TEST(RolloutReader, DealsTextsOutAnewWhereTheStreamDealsItsStateOut) {
  const RolloutOptions options{.lag = 1};
  std::vector<nlohmann::json> saved;
  for (int replica = 0; replica < 2; ++replica) {
    RolloutReader reader(std::make_shared<Sums>(options), {replica, 2}, 1, 1, {});
    reader.ask(static_cast<std::uint64_t>(replica));
    reader.ask(static_cast<std::uint64_t>(2 + replica));
    reader.write(texts_of({1 + replica}));
    reader.read_step();
    reader.write(texts_of({10 + replica}));
    saved.push_back(nlohmann::json::parse(reader.state()).at("state"));
  }
  EXPECT_THAT(test::error_of([&] { RolloutReader(std::make_shared<Sums>(options), {}, 2, 2, saved); },
                             ErrorKind::input),
              HasSubstr("has the states of 2 data replicas, and this job has 1"));

  const auto stream = std::make_shared<Sums>(options);
  stream->deals_out = true;
  RolloutReader one(stream, {}, 2, 2, saved);
  one.ask(4);
  one.read_step();

  EXPECT_THAT(taken(one, 2), ElementsAre(10, 11));
  EXPECT_THAT(stream->firsts, ElementsAre(4));
  EXPECT_EQ(stream->state(), 1 + 2 + 10 + 11);
}

TEST(RolloutReader, RefusesACheckpointWhoseTextsWereWrittenByOtherRules) {
  const auto refusal = [](const nlohmann::json& state, std::int64_t lag) {
    return test::error_of(
        [&] { RolloutReader(std::make_shared<Sums>(RolloutOptions{.lag = lag}), {}, 2, 2, {state}); },
        ErrorKind::input);
  };
  EXPECT_THAT(refusal({{"stream", 0}, {"pending", nlohmann::json::array()}}, 1),
              HasSubstr("the run has rollouts with a lag of 0 steps, and this job has a lag of 1 step"));
  EXPECT_THAT(refusal(30, 0), HasSubstr("a stream that is none of rollouts"));
  const nlohmann::json text{{"number", 0}, {"prompt", {1}}, {"text", {2}}, {"log_prob_bits", {0}}};
  EXPECT_THAT(refusal({{"stream", 0}, {"pending", {{{"first", 2}, {"texts", {text}}}}}}, 1),
              HasSubstr("the checkpoint has 1 rollout for a step that needs 2"));
}

TEST(RolloutReader, RefusesMoreTextsThanACheckpointHolds) {
  const auto state_with = [](std::size_t tokens, std::int64_t lag) {
    RolloutReader reader(std::make_shared<Sums>(RolloutOptions{.lag = lag}), {}, 1, 1, {});
    for (std::int64_t step = 0; step <= lag; ++step) {
      reader.ask(static_cast<std::uint64_t>(step));
      reader.write({{std::vector<std::int64_t>(tokens, 7), std::vector<float>(tokens, -1)}});
    }
    reader.read_step();
    return reader.state();
  };
  const std::size_t most = RolloutReader::waiting_tokens_max - 2;  // a prompt has two tokens
  EXPECT_GT(state_with(most, 1).size(), most);
  EXPECT_LT(state_with(most + 1, 0).size(), 100U) << "no text waits";
  EXPECT_THAT(
      test::error_of([&] { state_with(most + 1, 1); }, ErrorKind::input),
      HasSubstr("more than 524288 tokens, which a checkpoint's state does not hold; set the lag to 0"));
}

TEST(RolloutReader, RefusesWhatAStreamGivesInWrongNumbers) {
  const auto refusal = [](const std::function<void(Sums&)>& spoil) {
    return test::error_of(
        [&] {
          const auto stream = std::make_shared<Sums>(RolloutOptions{});
          spoil(*stream);
          RolloutReader reader(stream, {}, 2, 1, {});
          reader.ask(0);
          reader.write(texts_of({1, 2}));
          reader.read_step();
        },
        ErrorKind::input);
  };
  EXPECT_THAT(refusal([](Sums& sums) { sums.more = 1; }), HasSubstr("gave 3 prompts for step 1; expected 2"));
  EXPECT_THAT(refusal([](Sums& sums) { sums.more = -2; }), HasSubstr("gave 0 prompts for step 1"));
  EXPECT_THAT(refusal([](Sums& sums) { sums.empty = true; }), HasSubstr("prompt 0 of step 1 has no tokens"));
  EXPECT_THAT(refusal([](Sums& sums) { sums.fewer = -1; }),
              HasSubstr("made 1 sample for step 1; expected 2"));
}

}  // namespace
}  // namespace d9d
