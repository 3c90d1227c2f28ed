#include "runtime/data/config/mixture_data_config.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/data/config/data_config.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

struct Read {
  DataConfig data;
  std::string error;  // the first
};

Read read_mixture(const std::string& parts) {
  config::Problems problems;
  Read read;
  read.data = config::decode<DataConfig>(config::parse("{source: mixture, parts: " + parts + "}", "job.yaml"),
                                         problems, "data");
  if (!problems.errors().empty()) read.error = to_string(problems.errors()[0]);
  return read;
}

TEST(MixtureDataConfig, ReadsAWeightAndASourceOfEachPart) {
  const Read read = read_mixture(
      "[{weight: 0.5, source: tokens, tokens: t.npy, epochs: 2}, {weight: 2, source: mine, rows: 3}]");

  EXPECT_EQ(read.error, "");
  const auto& parts = std::get<MixtureDataConfig>(read.data).parts;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].weight, 0.5);
  EXPECT_EQ(std::get<TokensDataConfig>(parts[0].source).epochs, Epochs{2});
  EXPECT_EQ(std::get<OwnDataConfig>(parts[1].source).options.path, "data.parts.1");
  EXPECT_EQ(config::encode(read.data).at("parts").at(1).dump(),
            R"({"weight":2.0,"source":"mine","rows":3,"epochs":1})");
}

TEST(MixtureDataConfig, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(read_mixture("[{source: tokens, tokens: t}]").error, HasSubstr("data.parts.0.weight: missing"));
  EXPECT_THAT(read_mixture("[{weight: 0, source: tokens, tokens: t}]").error,
              HasSubstr("data.parts.0.weight: 0 is out of range"));
  EXPECT_THAT(read_mixture("[{weight: 1}]").error, HasSubstr("data.parts.0.source: missing"));
  EXPECT_THAT(read_mixture("[{weight: 1, source: tokens, token: t}]").error,
              HasSubstr("data.parts.0.token: unknown key"));
  EXPECT_THAT(read_mixture("[tokens]").error, HasSubstr("a section with `weight` and `source`"));
  EXPECT_THAT(read_mixture("3").error, HasSubstr("data.parts"));
}

}  // namespace
}  // namespace d9d
