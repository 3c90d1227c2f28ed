#include "runtime/data/source/stream_source.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

class Silent final : public RolloutStream {
 public:
  std::int64_t sequence_length() const override { return 7; }
  void begin(const StreamPlace& /*place*/) override {}
  RolloutOptions options() const override { return {}; }
  std::vector<std::vector<std::int64_t>> prompts(const RolloutStep& /*step*/) override { return {}; }
  std::vector<Sample> samples(const RolloutStep& /*step*/, std::span<const Rollout> /*texts*/) override {
    return {};
  }
  nlohmann::json state() const override { return nullptr; }
  void load_state(const nlohmann::json& /*state*/) override {}
};

TEST(RolloutSource, OpensAStreamForEachRankAndHasNoSamplesOfItsOwn) {
  const RolloutSource source([] { return std::make_shared<Silent>(); });

  EXPECT_EQ(source.sequence_length(), 7);
  EXPECT_EQ(source.num_samples(), std::nullopt);
  EXPECT_TRUE(source.is_stream() && source.is_rollouts());
  EXPECT_NE(source.open_rollouts(), source.open_rollouts());
  EXPECT_EQ(source.open_stream(), nullptr);
  EXPECT_THAT(test::error_of([&] { source.at(3); }, ErrorKind::input),
              HasSubstr("made of texts that the model writes while it trains: there is no sample 3"));
}

}  // namespace
}  // namespace d9d
