#include "runtime/data/own_data_config.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/data/data_config.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

DataConfig read_data(const std::string& text, config::Problems& problems) {
  return config::decode<DataConfig>(config::parse(text, "job.yaml"), problems, "data");
}

TEST(OwnDataConfig, LeavesItsOwnerAllKeysButEpochs) {
  config::Problems problems;
  const DataConfig data = read_data("{source: mine, rows: 3, epochs: 2, name: x}", problems);

  ASSERT_TRUE(problems.errors().empty());
  const auto& own = std::get<OwnDataConfig>(data);
  EXPECT_EQ(own.name, "mine");
  EXPECT_EQ(own.epochs, Epochs{2});
  EXPECT_EQ(own.options.path, "data");
  EXPECT_EQ(config::to_json(own.options.node).dump(), R"({"name":"x","rows":3})");
  EXPECT_EQ(config::encode(data).dump(), R"({"source":"mine","name":"x","rows":3,"epochs":2})");
}

TEST(OwnDataConfig, MayBeTheNameAloneAndIsReadOnce) {
  config::Problems problems;
  const DataConfig data = read_data("mine", problems);

  ASSERT_TRUE(problems.errors().empty());
  EXPECT_EQ(std::get<OwnDataConfig>(data).name, "mine");
  EXPECT_EQ(std::get<OwnDataConfig>(data).epochs, Epochs{1});
}

TEST(OwnDataConfig, SaysWhatIsWrongWithEpochs) {
  config::Problems problems;
  read_data("{source: mine, epochs: -1}", problems);

  ASSERT_EQ(problems.errors().size(), 1U);
  EXPECT_THAT(to_string(problems.errors()[0]), HasSubstr("data.epochs: expected a number of epochs"));
}

}  // namespace
}  // namespace d9d
