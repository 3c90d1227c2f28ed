#include "runtime/data/config/own_data_config.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/data/config/data_config.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

DataConfig read_data(const std::string& text, config::Problems& problems) {
  return config::decode<DataConfig>(config::parse(text, "job.yaml"), problems, "data");
}

TEST(OwnDataConfig, LeavesItsOwnerAllKeysButEpochsAndOrder) {
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

TEST(OwnDataConfig, TakesTheOrderOutOfItsOwnersKeys) {
  config::Problems problems;
  const DataConfig data =
      read_data("{source: mine, order: {sorted: {buffer_size: 64, pack_size: 8}}}", problems);

  ASSERT_TRUE(problems.errors().empty());
  const auto& own = std::get<OwnDataConfig>(data);
  ASSERT_TRUE(own.order.sorted);
  EXPECT_EQ(own.order.sorted->pack_size, 8);
  EXPECT_FALSE(own.order.shards);
  EXPECT_TRUE(own.options.node.entries.empty());
  EXPECT_EQ(config::encode(read_data(config::encode(data).dump(), problems)), config::encode(data));

  read_data("{source: mine, order: {sorted: {buffer_size: 64}}}", problems);
  ASSERT_EQ(problems.errors().size(), 1U);
  EXPECT_THAT(to_string(problems.errors()[0]), HasSubstr("data.order.sorted.pack_size: missing"));
}

TEST(OwnDataConfig, SaysWhatIsWrongWithEpochs) {
  config::Problems problems;
  read_data("{source: mine, epochs: -1}", problems);

  ASSERT_EQ(problems.errors().size(), 1U);
  EXPECT_THAT(to_string(problems.errors()[0]), HasSubstr("data.epochs: expected a number of epochs"));
}

}  // namespace
}  // namespace d9d
