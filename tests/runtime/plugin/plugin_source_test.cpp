#include "runtime/plugin/plugin_source.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include <stdexcept>

#include "runtime/base/error.hpp"
#include "runtime/data/source/stream_source.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// What its samples are is up to the test.
class AnySource final : public SampleSource {
 public:
  AnySource(std::optional<std::uint64_t> samples, std::int64_t length, std::function<Sample()> make = {})
      : samples_(samples), length_(length), make_(std::move(make)) {}
  std::optional<std::uint64_t> num_samples() const override { return samples_; }
  std::int64_t sequence_length() const override { return length_; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t) const override { return make_(); }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    if (index == 8) throw std::runtime_error("no such row");
    return static_cast<std::int64_t>(index);
  }

 private:
  const std::optional<std::uint64_t> samples_;
  const std::int64_t length_;
  const std::function<Sample()> make_;
};

std::string refusal_of(std::optional<std::uint64_t> samples, std::int64_t length) {
  return test::error_of([&] { PluginSource("mine", std::make_shared<AnySource>(samples, length), 10); },
                        ErrorKind::input);
}

std::string sample_error(std::function<Sample()> make, ErrorKind kind = ErrorKind::input) {
  const PluginSource source("mine", std::make_shared<AnySource>(9, 2, std::move(make)), 10);
  return test::error_of([&] { source.at(7); }, kind);
}

TEST(PluginSource, PassesGoodSamplesOn) {
  const Sample good{{0, 9}, {9, ignored_label}};
  const PluginSource source("mine", std::make_shared<AnySource>(9, 2, [&] { return good; }), 10);

  EXPECT_EQ(source.at(7), good);
  EXPECT_EQ(source.num_samples(), 9U);
  EXPECT_EQ(source.sequence_length(), 2);
}

TEST(PluginSource, PassesLengthsOnAndNamesTheSampleWithoutOne) {
  const PluginSource source("mine", std::make_shared<AnySource>(9, 2), 10);

  EXPECT_EQ(source.sort_key(3), 3);
  EXPECT_THAT(test::error_of([&] { source.sort_key(8); }),
              testing::AllOf(HasSubstr("the length of sample 8 of the data source \"mine\""),
                             HasSubstr("no such row")));
}

TEST(PluginSource, RefusesASourceWithoutSamplesOrLength) {
  EXPECT_THAT(refusal_of(0, 2), HasSubstr("\"mine\" says that it has 0 samples of 2 tokens"));
  EXPECT_THAT(refusal_of(9, 0), HasSubstr("9 samples of 0 tokens"));
  EXPECT_THAT(test::error_of([] { PluginSource("mine", nullptr, 10); }, ErrorKind::input),
              HasSubstr("the factory of the data source \"mine\" made none"));
}

TEST(PluginSource, RefusesSamplesThatAreNotWhatItSays) {
  const auto made = [](Sample sample) { return sample_error([sample] { return sample; }); };

  EXPECT_THAT(made({{1}, {1}}),
              HasSubstr("sample 7 of the data source \"mine\" has 1 inputs and 1 labels, but"));
  EXPECT_THAT(made({{1, 2}, {1, 2, 3}}), HasSubstr("has 2 inputs and 3 labels"));
  EXPECT_THAT(made({{1, 10}, {1, 2}}), HasSubstr("holds the token 10, expected at least 0 and less than 10"));
  EXPECT_THAT(made({{-1, 2}, {1, 2}}), HasSubstr("holds the token -1"));
  EXPECT_THAT(made({{1, 2}, {-99, 2}}), HasSubstr("holds the label -99, expected -100 or at least 0"));
}

TEST(PluginSource, SamplesMayBeShorterForACollation) {
  Sample sample{{1}, {1, 2}};
  const PluginSource source("mine", std::make_shared<AnySource>(9, 2, [&] { return sample; }), 10,
                            /*lengths_vary=*/true);

  EXPECT_EQ(source.at(7), sample);
  sample.input_ids = {1, 2, 3};
  EXPECT_THAT(test::error_of([&] { source.at(7); }), HasSubstr("says that each has at most 2"));
}

TEST(PluginSource, WhatItThrowsNamesTheSampleAndIsNoBug) {
  EXPECT_THAT(
      sample_error([]() -> Sample { throw std::runtime_error("no such row"); }, ErrorKind::environment),
      HasSubstr("sample 7 of the data source \"mine\" threw: no such row"));
}

// Three good samples, then what the test says.
class AnyStream final : public SampleStream {
 public:
  explicit AnyStream(std::function<std::optional<Sample>()> fourth) : fourth_(std::move(fourth)) {}
  std::int64_t sequence_length() const override { return 2; }
  void begin(const StreamPlace&) override {}
  std::optional<Sample> next() override { return given_++ < 3 ? Sample{{1, 2}, {2, 3}} : fourth_(); }
  nlohmann::json state() const override { throw std::runtime_error("no state yet"); }
  void load_state(const nlohmann::json&) override {}
  void load_states(const std::vector<nlohmann::json>& states, const StreamPlace& place) override {
    given_ = states.at(0).get<int>() * place.replicas;
  }

 private:
  const std::function<std::optional<Sample>()> fourth_;
  int given_ = 0;
};

std::shared_ptr<SampleStream> opened(const std::function<std::optional<Sample>()>& fourth) {
  const PluginSource source(
      "mine", std::make_shared<StreamSource>([fourth] { return std::make_shared<AnyStream>(fourth); }), 10);
  EXPECT_TRUE(source.is_stream());
  return source.open_stream();
}

TEST(PluginSource, LooksAtTheSamplesOfAStreamAndNamesIt) {
  const auto fourth_error = [](const std::function<std::optional<Sample>()>& fourth) {
    const auto stream = opened(fourth);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(stream->next());
    return test::error_of([&] { stream->next(); });
  };

  EXPECT_THAT(fourth_error([] {
                return Sample{{1, 10}, {2, 3}};
              }),
              HasSubstr("sample 3 of the data source \"mine\" holds the token 10"));
  EXPECT_THAT(fourth_error([]() -> Sample { throw std::runtime_error("no such row"); }),
              HasSubstr("the next sample of the data source \"mine\" threw: no such row"));
  EXPECT_EQ(fourth_error([] { return std::nullopt; }), "no error");
  EXPECT_THAT(test::error_of([] { opened({})->state(); }),
              HasSubstr("the state() of the data source \"mine\" threw: no state yet"));
}

TEST(PluginSource, AStreamMayDealItsSamplesOutAnew) {
  const auto stream = opened([] { return std::nullopt; });

  stream->load_states({1}, {0, 2});

  EXPECT_TRUE(stream->next());
  EXPECT_FALSE(stream->next()) << "it was put to the third of three samples";
}

// One prompt and one sample a step, as the test says.
class AnyRollouts final : public RolloutStream {
 public:
  AnyRollouts(std::vector<std::int64_t> prompt, std::function<Sample()> make)
      : prompt_(std::move(prompt)), make_(std::move(make)) {}
  std::int64_t sequence_length() const override { return 2; }
  void begin(const StreamPlace& /*place*/) override {}
  RolloutOptions options() const override { return {.ends = {3}}; }
  std::vector<std::vector<std::int64_t>> prompts(const RolloutStep& /*step*/) override { return {prompt_}; }
  std::vector<Sample> samples(const RolloutStep& /*step*/, std::span<const Rollout> /*texts*/) override {
    return {make_()};
  }
  nlohmann::json state() const override { return 5; }
  void load_state(const nlohmann::json& /*state*/) override { throw std::runtime_error("old state"); }

 private:
  const std::vector<std::int64_t> prompt_;
  const std::function<Sample()> make_;
};

std::shared_ptr<RolloutStream> rollouts_of(const std::vector<std::int64_t>& prompt,
                                           const std::function<Sample()>& make = {}) {
  const PluginSource source(
      "mine", std::make_shared<RolloutSource>([=] { return std::make_shared<AnyRollouts>(prompt, make); }),
      10);
  EXPECT_TRUE(source.is_rollouts() && source.is_stream());
  EXPECT_EQ(source.open_stream(), nullptr);
  return source.open_rollouts();
}

TEST(PluginSource, LooksAtWhatAStreamOfRolloutsGivesAndNamesIt) {
  const auto error = [](const std::function<Sample()>& make) {
    return test::error_of([&] { rollouts_of({1}, make)->samples({.step = 4}, {}); });
  };
  EXPECT_EQ(rollouts_of({1})->options().ends, std::vector<std::int64_t>{3});
  EXPECT_EQ(rollouts_of({1})->state(), 5);
  EXPECT_THAT(
      test::error_of([] { rollouts_of({10})->prompts({}); }),
      HasSubstr("prompt 0 of the data source \"mine\" holds the token 10, expected at least 0 and less"));
  EXPECT_THAT(error([]() -> Sample { throw std::runtime_error("no judge"); }),
              HasSubstr("the samples() of step 4 of the data source \"mine\" threw: no judge"));
  EXPECT_THAT(error([] {
                return Sample{{1, 2}, {2, 10}};
              }),
              HasSubstr("sample 0 of the data source \"mine\" holds the label 10"));
  for (const float bad : {NAN, INFINITY})
    EXPECT_THAT(
        error([&] {
          return Sample{.input_ids = {1, 2}, .labels = {2, 3}, .numbers = {{"reward", {1, bad}}}};
        }),
        HasSubstr("sample 0 that the data source \"mine\" made of the texts of step 4 has reward = "));
  EXPECT_THAT(test::error_of([] { rollouts_of({1})->load_states({1}, {}); }),
              HasSubstr("the load_states() of the data source \"mine\" threw: old state"));
}

struct StreamOfBytes final : SampleStream {
  std::int64_t sequence_length() const override { return 2; }
  void begin(const StreamPlace& /*place*/) override {}
  std::optional<Sample> next() override { return std::nullopt; }
  nlohmann::json state() const override { return {{"file", "\xff"}}; }
  void load_state(const nlohmann::json& /*state*/) override {}
};

TEST(PluginSource, AStateOfAStreamIsText) {
  const PluginSource source(
      "mine", std::make_shared<StreamSource>([] { return std::make_shared<StreamOfBytes>(); }), 10);

  EXPECT_THAT(test::error_of([&] { source.open_stream()->state(); }, ErrorKind::environment),
              HasSubstr("the state() of the data source \"mine\" holds bytes that are no UTF-8, which a "
                        "checkpoint cannot keep: {\"file\":\"\uFFFD\"}"));
}

}  // namespace
}  // namespace d9d
