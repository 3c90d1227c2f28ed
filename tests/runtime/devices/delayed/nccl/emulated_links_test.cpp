#include "runtime/devices/delayed/nccl/emulated_links.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <thread>

namespace d9d::nccl {
namespace {

using testing::ElementsAre;

// A member that keeps what comes.
class Member {
 public:
  Member(const std::string& name, int size, int rank)
      : links_(name, size, rank,
               {.came =
                    [this](const EmulatedFrame& frame) {
                      note(std::to_string(frame.key.peer) + " tells " + std::to_string(frame.key.number) +
                           " of " + std::to_string(frame.bytes.size()));
                    },
                .gone = [this](int peer) { note(std::to_string(peer) + " is gone"); },
                .work = [] { return false; }}) {}

  void await_all() const {
    while (!links_.whole()) std::this_thread::yield();
  }
  void tell(int peer, std::uint64_t number, std::size_t bytes) {
    links_.send({{EmulatedFrame::Kind::message, peer, number}, {}, std::string(bytes, 'x')});
  }
  void end(bool delivered) { links_.close(delivered); }
  std::vector<std::string> await_notes(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return notes_.size() >= count; });
    return notes_;
  }

 private:
  void note(std::string text) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
  EmulatedLinks links_;
};

std::string name_of_test(const char* what) {
  return "test-" + std::to_string(::getpid()) + "-" + what;
}

TEST(EmulatedLinks, MeetInAnyOrderAndKeepTheOrderOfFrames) {
  const std::string name = name_of_test("order");
  Member last(name, 3, 2), first(name, 3, 0), middle(name, 3, 1);
  for (const Member* member : {&last, &first, &middle}) member->await_all();

  last.tell(0, 1, 1'000'000);
  last.tell(0, 2, 0);
  first.tell(1, 3, 5);

  EXPECT_THAT(first.await_notes(2), ElementsAre("2 tells 1 of 1000000", "2 tells 2 of 0"));
  EXPECT_THAT(middle.await_notes(1), ElementsAre("0 tells 3 of 5"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/d9d-" + name + "-0")) << "the place where they met";
}

TEST(EmulatedLinks, DeliverWhatWasToldBeforeTheyEnd) {
  const std::string name = name_of_test("end");
  Member first(name, 2, 0), second(name, 2, 1);
  first.await_all();
  second.await_all();

  second.tell(0, 1, 10'000'000);
  second.end(true);

  EXPECT_THAT(first.await_notes(2), ElementsAre("1 tells 1 of 10000000", "1 is gone"));
  first.tell(1, 2, 3);  // nobody hears it
}

TEST(EmulatedLinks, EndAlsoWhereAMemberReadsNothing) {
  const std::string name = name_of_test("deaf");
  std::promise<void> leave;
  std::atomic<bool> hears = false;
  EmulatedLinks deaf(name, 2, 0,
                     {.came =
                          [&, left = leave.get_future().share()](const EmulatedFrame&) {
                            hears = true;
                            left.wait();
                          },
                      .gone = [](int) {},
                      .work = [] { return false; }});
  Member second(name, 2, 1);
  second.await_all();
  second.tell(0, 1, 1);
  while (!hears) std::this_thread::yield();
  second.tell(0, 2, 10'000'000);

  second.end(true);  // or the test would not end

  leave.set_value();
}

TEST(EmulatedLinks, EndWhileOthersHaveNotCome) {
  const std::string name = name_of_test("alone");
  Member first(name, 2, 0);

  first.end(true);

  EXPECT_FALSE(std::filesystem::exists("/tmp/d9d-" + name + "-0"));
}

}  // namespace
}  // namespace d9d::nccl
