// A config.json means what transformers takes it for; see tests/golden/config_keys/origin.md.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"

namespace d9d {
namespace {

using nlohmann::json;

json windows_of(const FamilyModel& model) {
  json windows = json::array();
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer)
    windows.push_back(model.windows.of(layer));
  return windows;
}

json rope_in(const json& config) {
  const json& parameters = config.at("rope_parameters");
  json rope = parameters.contains("full_attention") ? parameters.at("full_attention") : parameters;
  json found;
  for (const char* key :
       {"rope_type", "rope_theta", "factor", "original_max_position_embeddings", "truncate"})
    if (rope.contains(key)) found[key] = rope[key];
  return found;
}

// The keys of `wanted`, as we understood the config.
json meaning_of(const FamilyModel& model, const json& wanted) {
  const json written = json::parse(model.config_json());
  json found;
  for (const auto& [key, value] : wanted.items()) {
    if (key == "windows")
      found[key] = windows_of(model);
    else if (key == "rope")
      found[key] = rope_in(written);
    else if (key == "window_theta")
      found[key] = written.at("rope_parameters").at("sliding_attention").at("rope_theta");
    else if (key == "experts")
      found[key] = model.experts_per_layer();
    else if (written.contains(key))
      found[key] = written[key];
    else
      found[key] = value;  // of no effect on this model, so that no config needs it
  }
  return found;
}

TEST(ConfigKeys, MeanWhatTransformersTakesThemFor) {
  const json cases =
      json::parse(std::ifstream(std::string(D9D_SOURCE_DIR) + "/tests/golden/config_keys/expect.json"));
  std::map<std::string, json> usual;
  ASSERT_GT(cases.size(), 100U);
  for (const json& one : cases) {
    const std::string family = one.at("family");
    SCOPED_TRACE(family + " " + one.at("keys").dump());
    json document = one.at("keys"), expect = one.at("expect");
    document["model_type"] = family;
    if (one.at("keys").empty()) usual[family] = expect;
    json whole = usual.at(family);
    whole.update(expect);

    std::shared_ptr<FamilyModel> model;
    ASSERT_NO_THROW(model = parse_hugging_face_config(document.dump(), "config.json"));

    EXPECT_EQ(meaning_of(*model, whole).dump(1), whole.dump(1));
  }
}

}  // namespace
}  // namespace d9d
