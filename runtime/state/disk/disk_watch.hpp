#pragma once
// Notices a disk that hangs: a call that does not return in time. Such a call cannot be cancelled,
// so `on_hang` reports and ends the process. Thread-safe; must outlive every call that it watches.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace d9d {

class DiskWatch {
 public:
  using OnHang = std::function<void(const std::string& report)>;

  // `on_hang` is called once, on the watch's own thread. Time counts only while this
  // process runs, so that one that was stopped and continued is not taken for hanging.
  DiskWatch(std::chrono::milliseconds limit, OnHang on_hang);
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  enum class Access {
    read,
    write,   // into a file that is open
    change,  // names: a file appears, moves or goes
  };
  // Called on the calling thread before each call; its time counts as part of the call. Set it
  // before there are other threads.
  void set_before_call(std::function<void(Access)> before) { before_call_ = std::move(before); }

  // One call to the disk, from construction to destruction.
  class Call {
   public:
    // `operation` and `path` are for messages: "write" "/a/b".
    Call(DiskWatch& watch, const char* operation, const std::string& path, Access access = Access::write);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    DiskWatch& watch_;
    std::uint64_t id_;
  };

 private:
  struct Running {
    const char* operation;
    std::string path;
    int periods = 0;  // checks of the watch during this call
  };
  void run(const std::stop_token& stop);
  std::string report_of(const Running& call) const;

  const std::chrono::milliseconds limit_;
  const OnHang on_hang_;
  std::function<void(Access)> before_call_;
  std::mutex mutex_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, Running> calls_;
  std::jthread thread_;  // the last member: it ends before what it uses
};

}  // namespace d9d
