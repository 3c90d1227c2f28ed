#pragma once
// When the processes of a command end, which of them are made to end, and with which exit code the command does. Knows
// neither processes nor a clock: the Supervisor asks.
//
// A job ends by itself when one of its processes is lost. The processes that still run `grace` later are told to end,
// and are killed some seconds after that.

#include <chrono>
#include <cstdint>
#include <optional>

namespace d9d {

enum class Push { none, terminate, kill };

class EndPolicy {
 public:
  explicit EndPolicy(std::chrono::nanoseconds grace) : grace_(grace) {}

  // `code`: a process's exit code, or 128 + the signal that ended it.
  void ended(int code, std::int64_t now_ns);
  // A signal has asked all of them to end; they leave by themselves until then.
  void asked_to_end(std::int64_t deadline_ns);

  // What is to be done now to all that are left; each but once.
  Push due(std::int64_t now_ns);
  std::optional<std::int64_t> deadline_ns() const;  // when to ask again
  int exit_code() const { return code_; }           // of the first that failed; 0: none has

 private:
  void kill_by(std::int64_t time_ns);

  const std::chrono::nanoseconds grace_;
  int code_ = 0;
  std::optional<std::int64_t> terminate_ns_, kill_ns_;
};

}  // namespace d9d
