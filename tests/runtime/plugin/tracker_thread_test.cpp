#include "runtime/plugin/tracker_thread.hpp"

#include <gmock/gmock.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::hours never{1};

// What a tracker was given, on which threads, and what it does with the value "block" or "throw".
struct Given {
  std::vector<std::string> calls;
  std::set<std::thread::id> threads;
  std::promise<void> blocks;
  std::shared_future<void> released = blocks.get_future().share();
};

class Notes final : public TrackerRun {
 public:
  explicit Notes(std::shared_ptr<Given> given) : given_(std::move(given)) {}
  ~Notes() override { note("end"); }
  void write(const Point& point, const TrackerValue& /*value*/) override {
    if (point.name == "throw") throw std::runtime_error("quota");
    if (point.name == "block") given_->released.wait();
    note(point.name);
  }
  void end_step(std::int64_t step) override { note("step " + std::to_string(step)); }
  void hparams(const nlohmann::json& hparams) override { note(hparams.at(0)); }
  void close() override { note("close"); }

 private:
  void note(const std::string& call) {
    given_->calls.push_back(call);
    given_->threads.insert(std::this_thread::get_id());
  }
  const std::shared_ptr<Given> given_;
};

class TrackerThreadTest : public testing::Test {
 protected:
  TrackerThreadOptions options(std::chrono::milliseconds limit) {
    return {.name = "mine",
            .open = [given = given] { return std::make_unique<Notes>(given); },
            .open_limit = limit,
            .call_limit = limit,
            .before_lines_go_out = [this] { ++looks; }};
  }
  const std::shared_ptr<Given> given = std::make_shared<Given>();
  int looks = 0;
};

TEST_F(TrackerThreadTest, GivesAllCallsInTheirOrderOnOneThread) {
  {
    TrackerThread run(options(never));
    run.hparams({"lr"});
    run.write({"loss", 1, {}}, Scalar{2.5});
    run.end_step(1);
    EXPECT_THAT(given->calls, ElementsAre("lr", "loss", "step 1"));
    run.begin_close();
    run.close();
  }

  EXPECT_THAT(given->calls, ElementsAre("lr", "loss", "step 1", "close", "end"));
  EXPECT_EQ(given->threads.size(), 1U);
  EXPECT_EQ(given->threads.count(std::this_thread::get_id()), 0U);
  EXPECT_EQ(looks, 3);
}

TEST_F(TrackerThreadTest, OneThatThrowsIsNamedOnceAndGetsNothingMore) {
  testing::internal::CaptureStderr();
  {
    TrackerThread run(options(never));
    run.write({"throw", 3, {}}, Scalar{2.5});
    run.end_step(3);
    run.write({"loss", 4, {}}, Scalar{2.5});
    run.end_step(4);
  }

  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the tracker \"mine\" threw in step 3: quota. It gets nothing more"));
  EXPECT_THAT(given->calls, ElementsAre("end"));
}

TEST_F(TrackerThreadTest, OneThatBlocksIsNamedAndLeftBehind) {
  testing::internal::CaptureStderr();
  {
    TrackerThread run(options(std::chrono::milliseconds(20)));
    run.write({"block", 3, {}}, Scalar{2.5});
    run.end_step(3);
    run.write({"loss", 4, {}}, Scalar{2.5});
    run.end_step(4);
    run.close();
  }

  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the tracker \"mine\" has not returned from write() in step 3 for 0.02 s "
                        "(node.disk_timeout). It gets nothing more; training goes on"));
  EXPECT_THAT(given->calls, ElementsAre());
  given->blocks.set_value();
}

TEST_F(TrackerThreadTest, OneThatDoesNotOpenIsAnError) {
  TrackerThreadOptions blocks = options(std::chrono::milliseconds(20));
  blocks.open = [given = given]() -> std::unique_ptr<TrackerRun> {
    given->released.wait();
    return nullptr;
  };
  TrackerThreadOptions throws = options(never);
  throws.open = []() -> std::unique_ptr<TrackerRun> { throw std::runtime_error("no key"); };

  EXPECT_THAT(test::error_of([&] { TrackerThread run(blocks); }, ErrorKind::environment),
              HasSubstr("the tracker \"mine\" has not opened its run for 0.02 s"));
  EXPECT_THAT(test::error_of([&] { TrackerThread run(throws); }, ErrorKind::environment),
              HasSubstr("the tracker \"mine\" threw: no key"));
  given->blocks.set_value();
}

}  // namespace
}  // namespace d9d
