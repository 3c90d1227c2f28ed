#include "runtime/metric/sink/tracker.hpp"

#include "runtime/base/error.hpp"
#include "runtime/metric/sink/open_tracker.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"

namespace d9d {
namespace {

using Tracker = SinkFolder;

TEST(FlatNames, JoinTheContextAndTheName) {
  EXPECT_EQ(flat_name({"loss", 1, {}}), "loss");
  EXPECT_EQ(flat_name({"loss", 1, {{"stage", "train"}, {"part", "head"}}}), "head/train/loss");
}

TEST(FlatNames, WalkNestedSettings) {
  const nlohmann::json hparams{{"a", {{"b", 1}, {"c", {true, "x"}}}}, {"empty", nlohmann::json::object()}};

  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, leaf] : flat_hparams(hparams)) texts.emplace_back(name, text_of(leaf));
  EXPECT_EQ(texts, (std::vector<std::pair<std::string, std::string>>{
                       {"a/b", "1"}, {"a/c/0", "true"}, {"a/c/1", "x"}, {"empty", "{}"}}));
}

TEST_F(Tracker, OpensEveryProviderThatIsBuiltIn) {
  const std::vector<TrackerTarget> targets{NullTarget{}, LogTarget{}, JsonlTarget{folder_ / "m.jsonl"},
                                           TensorboardTarget{folder_ / "tb", "h"}};

  for (const TrackerTarget& target : targets) {
    const auto run = open_tracker(target, 0, clock_);
    run->hparams({{"seed", 1}});
    run->write({"loss", 1}, Scalar{1});
    run->write({"experts", 1}, Histogram{{1, 2}});
    run->end_step(1);
    run->close();
  }

  EXPECT_EQ(content(folder_ / "m.jsonl"), "{\"step\":1,\"loss\":1.0,\"experts\":[1.0,2.0]}\n");
}

}  // namespace
}  // namespace d9d
