// Which layers have a sliding window, as the families' config.json says it.
#include "runtime/family/layer_windows.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::shared_ptr<FamilyModel> parse(const std::string& type, const json& change) {
  json document = {{"model_type", type},       {"hidden_size", 32},
                   {"intermediate_size", 48},  {"num_hidden_layers", 4},
                   {"vocab_size", 64},         {"num_attention_heads", 4},
                   {"num_key_value_heads", 4}, {"max_position_embeddings", 64}};
  document.update(change);
  return parse_hugging_face_config(document.dump(), "config.json");
}

// The window of each of the four layers.
std::vector<std::int64_t> windows_of(const std::string& type, const json& change) {
  const auto model = parse(type, change);
  std::vector<std::int64_t> windows;
  for (std::int64_t layer = 0; layer < 4; ++layer) windows.push_back(model->attention_of(layer).window);
  return windows;
}

using Windows = std::vector<std::int64_t>;
const Windows none{0, 0, 0, 0};

TEST(LayerWindows, OfOneWidthForAllLayers) {
  for (const char* type : {"mistral", "mixtral"}) {
    EXPECT_EQ(windows_of(type, {{"sliding_window", 7}}), (Windows{7, 7, 7, 7})) << type;
    EXPECT_EQ(windows_of(type, {{"sliding_window", nullptr}}), none) << type;
  }
  EXPECT_EQ(windows_of("mistral", json::object()), (Windows{4096, 4096, 4096, 4096}));
  EXPECT_EQ(windows_of("mixtral", json::object()), none);
  EXPECT_EQ(windows_of("qwen3_moe", {{"use_sliding_window", true}, {"sliding_window", 7}}),
            (Windows{7, 7, 7, 7}));
  EXPECT_EQ(windows_of("qwen3_moe", {{"use_sliding_window", false}, {"sliding_window", 7}}), none);
}

TEST(LayerWindows, OfTheLastLayers) {
  for (const char* type : {"qwen2", "qwen3"}) {
    const json last = {{"use_sliding_window", true}, {"sliding_window", 7}, {"max_window_layers", 3}};
    EXPECT_EQ(windows_of(type, last), (Windows{0, 0, 0, 7})) << type;
    EXPECT_EQ(windows_of(type, {{"sliding_window", 7}, {"max_window_layers", 3}}), none) << type;
    EXPECT_EQ(windows_of(type, {{"use_sliding_window", true}, {"sliding_window", nullptr}}), none) << type;
  }
}

TEST(LayerWindows, OfEveryOtherLayerOfTheFirst) {
  const json first = {{"use_sliding_window", true}, {"sliding_window", 7}, {"max_window_layers", 3}};

  EXPECT_EQ(windows_of("qwen2_moe", first), (Windows{7, 0, 7, 0}));
}

TEST(LayerWindows, OfNamedLayers) {
  const json named = {
      {"use_sliding_window", true},
      {"sliding_window", 7},
      {"layer_types", {"full_attention", "sliding_attention", "sliding_attention", "full_attention"}}};
  for (const char* type : {"qwen2", "qwen3", "qwen2_moe"}) {
    EXPECT_EQ(windows_of(type, named), (Windows{0, 7, 7, 0})) << type;
    const auto again = parse_hugging_face_config(parse(type, named)->config_json(), "again");
    EXPECT_EQ(again->windows, parse(type, named)->windows) << type;
  }
}

// transformers 5.23 runs neither family with sliding_window null: it makes the mask of a window in any case.
TEST(LayerWindows, KeepTheirWidthWhereNoLayerSlides) {
  const json full{"full_attention", "full_attention", "full_attention", "full_attention"};
  const auto written = [&](const std::string& type, json width) {
    const auto model = parse(type, {{"layer_types", full}, {"sliding_window", std::move(width)}});
    return json::parse(model->config_json()).at("sliding_window");
  };

  for (const char* type : {"gemma3_text", "gpt_oss"}) {
    EXPECT_EQ(windows_of(type, {{"layer_types", full}, {"sliding_window", 7}}), none) << type;
    EXPECT_EQ(written(type, 7), 7) << type;
  }
  EXPECT_EQ(written("gemma3_text", nullptr), 4096);
  EXPECT_EQ(written("gpt_oss", nullptr), 128);
}

TEST(LayerWindows, RefuseWhatSaysNoWindow) {
  const auto error_of = [](const json& change) -> std::string {
    return test::error_of([&] { parse("qwen2", change); });
  };
  const json three{"full_attention", "full_attention", "full_attention"};
  const json sliding{"sliding_attention", "full_attention", "full_attention", "full_attention"};
  const json other{"chunked_attention", "full_attention", "full_attention", "full_attention"};

  EXPECT_THAT(error_of({{"layer_types", three}}),
              HasSubstr("layer_types has 3 entries, but there are 4 layers"));
  EXPECT_THAT(error_of({{"layer_types", sliding}}), HasSubstr("set use_sliding_window to true"));
  EXPECT_THAT(error_of({{"layer_types", other}}), HasSubstr("chunked_attention"));
  EXPECT_THAT(error_of({{"use_sliding_window", true}, {"sliding_window", -1}}),
              HasSubstr("sliding_window is -1"));
}

}  // namespace
}  // namespace d9d
