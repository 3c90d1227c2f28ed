#include "runtime/report/chart/curves.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/temporary_folder.hpp"

namespace d9d::report {
namespace {

TEST(Curves, HaveEveryNumberWithItsSteps) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("metrics.jsonl",
                                 "{\"step\":1,\"loss\":7.5,\"note\":\"text\",\"bins\":[1,2]}\n"
                                 "{\"step\":2,\"loss\":null}\n"
                                 "{\"step\":3,\"loss\":6.25,\"metrics/accuracy\":0.5}\n");

  const Curves curves = read_curves(file);

  ASSERT_EQ(curves.all.size(), 2U);
  EXPECT_EQ(curves.num_steps, 3U);
  const Curve* loss = curves.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(loss->values[0], 7.5);
  EXPECT_TRUE(std::isnan(loss->values[1]));
  EXPECT_THAT(curves.find("metrics/accuracy")->steps, testing::ElementsAre(3));
  EXPECT_EQ(curves.find("note"), nullptr);
}

TEST(Curves, CountLinesThatCannotBeRead) {
  const test::TemporaryFolder folder;
  const auto file =
      folder.write("metrics.jsonl", "{\"step\":1,\"loss\":2}\nnot JSON\n{\"loss\":3}\n{\"step\":2,\"lo");

  const Curves curves = read_curves(file);

  EXPECT_EQ(curves.num_steps, 1U);
  EXPECT_EQ(curves.unreadable_lines, 3U);
  EXPECT_TRUE(read_curves(folder / "absent").all.empty());
}

}  // namespace
}  // namespace d9d::report
