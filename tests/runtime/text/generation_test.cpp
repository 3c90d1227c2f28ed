// Against the greedy texts of transformers; see origin.md in tests/golden/generation.
#include "runtime/text/generation.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using Texts = std::vector<std::vector<std::int64_t>>;
using testing::HasSubstr;

nlohmann::json golden_file(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(D9D_SOURCE_DIR "/tests/golden/generation/" + name));
}
const nlohmann::json& golden_texts() {
  static const nlohmann::json texts = golden_file("expect.json");
  return texts;
}
const nlohmann::json& golden_repetitions() {
  static const nlohmann::json texts = golden_file("repetition.json");
  return texts;
}
std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& [name, expected] : golden_texts().items()) names.push_back(name);
  return names;
}
// As golden_model() names it.
std::string short_name(const std::string& name) {
  return name.starts_with("qwen3/") ? name.substr(6) : name;
}
GoldenModel model_named(const std::string& name) {
  return golden_model(short_name(name));
}

struct GoldenTexts {
  std::vector<Prompt> prompts;
  Texts tokens;
  GenerateOptions greedy;
  std::int64_t room = 0;

  explicit GoldenTexts(const std::string& name) : GoldenTexts(&golden_texts().at(name)) {}
  explicit GoldenTexts(const nlohmann::json* expected) : tokens(expected->at("tokens").get<Texts>()) {
    for (const auto& ids : expected->at("prompts").get<Texts>()) {
      room = std::max(room, std::ssize(ids) + std::ssize(tokens[0]));
      prompts.push_back({prompts.size(), ids});
    }
    greedy.temperature = 0;
    greedy.max_new_tokens = std::ssize(tokens[0]);
    greedy.repetition_penalty = expected->value("repetition_penalty", 1.0);
  }
};

class GeneratedTexts : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, GeneratedTexts, testing::ValuesIn(golden_names()),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(GeneratedTexts, AreThoseOfTransformers) {
  const GoldenTexts golden(GetParam());
  const auto stage = stage_of(model_named(GetParam()));
  stage->set_training(false);

  EXPECT_EQ(Generator(*stage, golden.greedy, golden.room).generate(golden.prompts), golden.tokens);
}

// RoPE of type longrope turns each token by the length of its text so far: texts that cross the pretrained length
// while they grow, beside others and alone, however much room there is.
TEST(CrossingTexts, AreThoseOfTransformersWhateverIsAskedForBesideThem) {
  const nlohmann::json crossing = golden_file("crossing.json");
  for (const auto& [name, expected] : crossing.items()) {
    const GoldenTexts golden(&expected);
    const auto stage = stage_of(model_named(name));
    stage->set_training(false);

    EXPECT_EQ(Generator(*stage, golden.greedy, golden.room).generate(golden.prompts), golden.tokens) << name;
    for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
      GenerateOptions one = golden.greedy;
      one.max_new_tokens = 1;
      const Texts first{{golden.tokens[i].front()}};
      EXPECT_EQ(Generator(*stage, golden.greedy, 60).generate({golden.prompts[i]}), Texts{golden.tokens[i]});
      EXPECT_EQ(Generator(*stage, one, golden.room).generate({golden.prompts[i]}), first) << i;
    }
  }
}

// Fewer sequences than prompts: a prompt begins while other texts go on.
TEST_P(GeneratedTexts, DoNotDependOnWhatIsComputedBesideThem) {
  const GoldenTexts golden(GetParam());
  const auto stage = stage_of(model_named(GetParam()));
  stage->set_training(false);
  GenerateOptions options = golden.greedy;
  options.sequences = 2;
  options.ends = {golden.tokens[0][3]};  // the first text makes room early

  Generator generator(*stage, options, golden.room);
  const Texts texts = generator.generate(golden.prompts);

  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto expected = golden.tokens[i];
    const auto end = std::find(expected.begin(), expected.end(), options.ends[0]);
    if (end != expected.end()) expected.erase(end + 1, expected.end());
    EXPECT_EQ(texts[i], expected) << i;
  }
  EXPECT_EQ(generator.generate(golden.prompts), texts);  // sequences of the cache begin anew
}

TEST_P(GeneratedTexts, HaveTheLogitsOfWholeSequences) {
  const GoldenTexts golden(GetParam());
  const auto stage = stage_of(model_named(GetParam()));
  stage->set_training(false);
  const std::vector<std::int64_t>& prompt = golden.prompts.back().ids;
  std::vector<std::int64_t> ids = prompt;
  ids.insert(ids.end(), golden.tokens.back().begin(), golden.tokens.back().end());
  const std::int64_t length = std::ssize(ids);
  const at::Tensor row = at::tensor(ids, at::kLong).unsqueeze(0);
  const at::Tensor expected = stage->forward({{"input_ids", row}}, {}).at("logits");
  auto& generating = dynamic_cast<GeneratingStage&>(*stage);
  const auto cache = generating.make_cache({1, length});

  std::vector<at::Tensor> logits;
  std::int64_t past = 0;
  for (const std::int64_t count :
       {length - 6, std::int64_t{1}, std::int64_t{3}, std::int64_t{1}, std::int64_t{1}}) {
    const TensorMap inputs{{"input_ids", row.narrow(1, past, count)}};
    logits.push_back(generating.extend(inputs, {}, *cache, {{{0, past, count}}}).at("logits"));
    past += count;
  }

  EXPECT_LT(relative_difference(at::cat(logits, 1), expected), 1e-5);
}

// For the logits to choose from; the host knows all else.
TEST_P(GeneratedTexts, WaitForADeviceOnceAPass) {
  const GoldenTexts golden(GetParam());
  const auto device = delayed_device(0);
  const LoadedModel there = load_hugging_face_model(PosixDisk(), golden_folder(short_name(GetParam())),
                                                    at::kFloat, device->place());
  GenerateOptions options = golden.greedy;
  options.sequences = std::ssize(golden.prompts);
  Generator generator(*there.stage, options, golden.room);
  HostWaits::take();

  EXPECT_EQ(generator.generate(golden.prompts), golden.tokens);

  std::uint64_t waits = 0;
  for (const auto& [place, count] : HostWaits::take()) waits += count;
  EXPECT_EQ(waits, golden.tokens.front().size());
}

TEST(Generator, PenalisesRepetitionsAsTransformers) {
  for (const auto& [name, expected] : golden_repetitions().items()) {
    const GoldenTexts golden(&expected);
    const auto stage = stage_of(model_named(name));
    stage->set_training(false);

    EXPECT_EQ(Generator(*stage, golden.greedy, golden.room).generate(golden.prompts), golden.tokens) << name;
    GenerateOptions unpenalised = golden.greedy;
    unpenalised.repetition_penalty = 1;
    EXPECT_NE(Generator(*stage, unpenalised, golden.room).generate(golden.prompts), golden.tokens) << name;
  }
}

TEST(Generator, EndsATextBehindSeveralTokensInStepAsWell) {
  const GoldenTexts golden("qwen3/moe");
  const auto stage = stage_of(model_named("qwen3/moe"));
  stage->set_training(false);
  const std::vector<std::int64_t> stop(golden.tokens[0].begin() + 2, golden.tokens[0].begin() + 5);
  GenerateOptions options = golden.greedy;
  options.ends_here = [&](std::span<const std::int64_t> text) {
    return text.size() >= stop.size() && std::ranges::equal(text.last(stop.size()), stop);
  };
  for (const bool in_step : {false, true}) {
    options.in_step = in_step;
    const Texts texts = Generator(*stage, options, golden.room).generate(golden.prompts);
    EXPECT_EQ(texts[0], std::vector(golden.tokens[0].begin(), golden.tokens[0].begin() + 5)) << in_step;
  }
}

TEST(Generator, DrawsForASampleTheSameInAnyBatch) {
  const GoldenTexts golden("qwen3/moe");
  const auto stage = stage_of(model_named("qwen3/moe"));
  stage->set_training(false);
  GenerateOptions options = golden.greedy;
  options.temperature = 1.5;
  options.top_k = 30;
  options.top_p = 0.9;
  options.seed = 11;
  const Texts together = Generator(*stage, options, golden.room).generate(golden.prompts);

  options.sequences = 1;
  for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
    EXPECT_EQ(Generator(*stage, options, golden.room).generate({golden.prompts[i]}).front(), together[i]);
  }
  Prompt other = golden.prompts[0];
  other.sample = 17;
  EXPECT_NE(Generator(*stage, options, golden.room).generate({other}).front(), together[0]);
}

TEST(Generator, MakesAsManyPassesInStepWhateverEnds) {
  const GoldenTexts golden("qwen3/dense_tied");
  const auto stage = stage_of(model_named("qwen3/dense_tied"));
  stage->set_training(false);
  GenerateOptions options = golden.greedy;
  options.in_step = true;
  options.ends = {golden.tokens[0][2]};

  const Texts texts = Generator(*stage, options, golden.room).generate(golden.prompts);

  EXPECT_EQ(texts[0], std::vector(golden.tokens[0].begin(), golden.tokens[0].begin() + 3));
}

class NoCache final : public StageModule {
  TensorMap forward(const TensorMap& /*inputs*/, const TensorMap& /*shared*/) override { return {}; }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool /*training*/) override {}
};

TEST(Generator, RefusesWhatCannotBe) {
  const auto stage = stage_of(model_named("qwen3/dense_tied"));
  NoCache model;
  const auto expect_error = [](const char* text, auto&& act) {
    EXPECT_THAT(error_of(act), HasSubstr(text)) << "no error with: " << text;
  };
  expect_error("the model cannot generate", [&] { Generator(model, {}, 8); });
  GenerateOptions options;
  options.max_new_tokens = 4;
  expect_error("prompt 3 has 5 tokens", [&] {
    Generator(*stage, options, 8).generate({{3, {1, 2, 3, 4, 5}}});
  });
  expect_error("prompt 2 has no tokens", [&] { Generator(*stage, options, 8).generate({{2, {}}}); });
  options.top_p = 0;
  expect_error("top_p is 0", [&] { Generator(*stage, options, 8); });
  options = {};
  options.repetition_penalty = 0;
  expect_error("repetition_penalty is 0", [&] { Generator(*stage, options, 8); });
  const auto dynamic = stage_of(model_named("dense_families/llama_dynamic"));
  expect_error("RoPE of type dynamic", [&] { Generator(*dynamic, {}, 25); });
}

}  // namespace
}  // namespace d9d::test
