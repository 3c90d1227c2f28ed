#include "runtime/task/task_records.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

TEST(TaskRecords, AreTakenOnceInTheirOrder) {
  TaskRecords records;
  records.add({3, "samples/first", TextRecord{"and the king"}});
  records.add({3, "share", 0.5});

  const std::vector<TaskRecord> taken = records.take();

  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].name, "samples/first");
  EXPECT_EQ(std::get<TextRecord>(taken[0].value).text, "and the king");
  EXPECT_EQ(std::get<double>(taken[1].value), 0.5);
  EXPECT_TRUE(records.take().empty());
}

TEST(TaskRecords, ComeFromAnyThread) {
  TaskRecords records;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) records.add({1, "value", 1.0});
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(records.take().size(), 200U);
}

TEST(TaskRecords, HaveALimitOfNumberAndBytes) {
  TaskRecords records;
  for (std::size_t i = 0; i < TaskRecords::count_max + 10; ++i) records.add({1, "value", 1.0});
  EXPECT_EQ(records.take().size(), TaskRecords::count_max);

  const std::string half(TaskRecords::bytes_max / 2, 'x');
  for (int i = 0; i < 3; ++i) records.add({2, "text", TextRecord{half}});
  EXPECT_EQ(records.take().size(), 2U);
  records.add({3, "text", TextRecord{half}});
  EXPECT_EQ(records.take().size(), 1U) << "room again";
}

TEST(TaskRecords, RefuseWhatNoTrackerCanShow) {
  TaskRecords records;

  EXPECT_THAT(test::error_of([&] { records.add({1, "", 1.0}); }), HasSubstr("without a name"));
  EXPECT_THAT(test::error_of([&] {
                records.add({7, "map", Picture{"GIF89a"}});
              }),
              HasSubstr("the picture map of step 7, whose bytes are no PNG file"));
}

}  // namespace
}  // namespace d9d
