#include "runtime/live/prometheus.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace d9d::live {
namespace {

TEST(LiveValues, KeepsTheNewestOfEachName) {
  LiveValues values;
  values.put("loss", {4.5, 1});
  values.put("lr", {0.1, 1});
  values.put("loss", {4.25, 2});

  const Values all = values.all();

  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at("loss").value, 4.25);
  EXPECT_EQ(all.at("loss").step, 2);
  EXPECT_EQ(all.at("lr").step, 1);
}

TEST(LiveValues, ReadersOnOtherThreadsSeeWholeValues) {
  LiveValues values;
  std::thread writer([&] {
    for (int step = 1; step <= 20000; ++step) values.put("loss", {static_cast<double>(step), step});
  });
  for (int look = 0; look < 2000; ++look) {
    for (const auto& [name, value] : values.all()) ASSERT_EQ(value.value, static_cast<double>(value.step));
  }
  writer.join();
  EXPECT_EQ(values.all().at("loss").step, 20000);
}

}  // namespace
}  // namespace d9d::live
