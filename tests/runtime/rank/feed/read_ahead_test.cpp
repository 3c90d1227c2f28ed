#include "runtime/rank/feed/read_ahead.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Sample i has the label i. What happens when it is read is the test's.
class SlowSource final : public SampleSource {
 public:
  explicit SlowSource(std::function<void(std::uint64_t)> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 1; }
  Sample at(std::uint64_t index) const override {
    meanwhile_(index);
    return {{0}, {static_cast<std::int64_t>(index)}};
  }

 private:
  const std::function<void(std::uint64_t)> meanwhile_;
};

std::shared_ptr<SlowSource> slow(std::function<void(std::uint64_t)> meanwhile) {
  return std::make_shared<SlowSource>(std::move(meanwhile));
}

// Lets threads go on when so many have come; false: they did not come within ten seconds.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  bool arrive() {
    std::unique_lock lock(mutex_);
    if (++come_ == expected_) all_.notify_all();
    return all_.wait_for(lock, std::chrono::seconds(10), [&] { return come_ >= expected_; });
  }

 private:
  const int expected_;
  std::mutex mutex_;
  std::condition_variable all_;
  int come_ = 0;
};

std::int64_t label(const Sample& sample) {
  return sample.labels.at(0);
}

TEST(ReadAhead, ReadsAsManySamplesAtOnceAsItHasThreads) {
  Meeting meeting(3);
  std::atomic<int> met = 0;
  ReadAhead ahead(slow([&](auto) { met += meeting.arrive() ? 1 : 0; }), 3, milliseconds(0));

  ahead.begin(5, 3);

  for (std::uint64_t i = 5; i < 8; ++i) EXPECT_EQ(label(ahead.at(i)), static_cast<std::int64_t>(i));
  EXPECT_EQ(met, 3);
}

// The last sample of the data is asked for again where it fills up a batch.
TEST(ReadAhead, ReadsAgainWhatWasTakenOrNotBegun) {
  std::mutex mutex;
  std::multiset<std::uint64_t> read;
  ReadAhead ahead(slow([&](auto i) {
                    const std::scoped_lock lock(mutex);
                    read.insert(i);
                  }),
                  2, milliseconds(0));
  ahead.begin(4, 2);

  EXPECT_EQ(label(ahead.at(5)), 5);
  EXPECT_EQ(label(ahead.at(5)), 5);
  EXPECT_EQ(label(ahead.at(4)), 4);
  EXPECT_EQ(label(ahead.at(9)), 9);

  EXPECT_EQ(read, (std::multiset<std::uint64_t>{4, 5, 5, 9}));
}

TEST(ReadAhead, ThrowsWhatTheSourceThrewWhenItsSampleIsAskedFor) {
  ReadAhead ahead(slow([](auto i) {
                    if (i == 1) throw std::out_of_range("no such picture");
                  }),
                  2, milliseconds(0));
  ahead.begin(0, 3);

  EXPECT_EQ(label(ahead.at(0)), 0);
  EXPECT_THROW(ahead.at(1), std::out_of_range);
  EXPECT_EQ(label(ahead.at(2)), 2);
}

TEST(ReadAhead, LeavesWhatWasBegunBefore) {
  Meeting first_begun(2), second_begun(2);
  ReadAhead ahead(slow([&](auto i) {
                    if (i == 0) first_begun.arrive() && second_begun.arrive();
                    EXPECT_NE(i, 1U) << "it was dropped before a thread was free";
                  }),
                  1, milliseconds(0));

  ahead.begin(0, 2);
  ASSERT_TRUE(first_begun.arrive());
  ahead.begin(10, 1);
  second_begun.arrive();

  EXPECT_EQ(label(ahead.at(10)), 10);
}

TEST(ReadAhead, SaysWhichSampleTookTooLong) {
  Meeting end(2);
  ReadAhead ahead(slow([&](auto) { end.arrive(); }), 1, milliseconds(20));
  ahead.begin(7, 1);

  EXPECT_THAT(
      test::error_of([&] { ahead.at(7); }, ErrorKind::environment),
      HasSubstr("sample 7 of the data took more than 0.02 s to read; give data_loading.timeout more"));
  end.arrive();
}

}  // namespace
}  // namespace d9d
