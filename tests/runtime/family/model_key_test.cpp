// The lists of keys of all families.
#include "runtime/family/model_key.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/family/families.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

std::shared_ptr<FamilyModel> usual_model(const Family& family) {
  return parse_hugging_face_config(json{{"model_type", family.name()}}.dump(), "config.json");
}

TEST(ModelKeys, NameEachKeyOnceAndHaveItsType) {
  for (const Family* family : families()) {
    std::set<std::string_view> names;
    for (const ModelKey& key : family->blank()->keys()) {
      EXPECT_TRUE(names.insert(key.key.name).second) << family->name() << " " << key.key.name;
      EXPECT_FALSE(key.key.meaning.empty()) << key.key.name;
      EXPECT_FALSE(key.type->name().empty()) << key.key.name;
    }
  }
}

TEST(ModelKeys, OfAFamilyAreThoseThatItsConfigIsWrittenWith) {
  for (const Family* family : families()) {
    std::set<std::string> known;
    for (const ModelKey& key : family->blank()->keys()) known.emplace(key.key.name);
    const json written = json::parse(usual_model(*family)->config_json());
    for (const auto& [name, value] : written.items())
      EXPECT_TRUE(known.contains(name)) << family->name() << " writes " << name << ", which no job may give";
  }
}

TEST(ModelKeys, ReadBackWhatTheyWriteOfAModelWithDefaults) {
  for (const Family* family : families()) {
    const std::string written = usual_model(*family)->config_json();

    EXPECT_EQ(parse_hugging_face_config(written, "again")->config_json(), written) << family->name();
  }
}

TEST(ModelKeys, RefuseBeforeTheyRead) {
  const std::string where = "config.json";
  const json document = {{"attention_dropout", 0.5}, {"hidden_size", "wide"}};

  EXPECT_THAT(error_of<std::exception>(
                  [&] { read_model(JsonReader(document, where), *find_family("llama")->blank()); }),
              testing::HasSubstr("attention_dropout is 0.5"));
}

}  // namespace
}  // namespace d9d::test
