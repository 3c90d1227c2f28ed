#pragma once
// Another program that answers lines with lines. It does not survive this object, and its input ends when this process
// does, however that happens. One thread.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

class AnsweringProcess {
 public:
  // What it says of errors is dropped. Environment error: it cannot be started.
  explicit AnsweringProcess(const std::vector<std::string>& words);
  ~AnsweringProcess();  // kills it
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  // Does not wait: what the program does not take yet is sent with the next call of either.
  void say(std::string_view line);
  // The next line, without its end. Nothing: it has ended, or none came within `patience`.
  std::optional<std::string> answer(std::chrono::milliseconds patience);

 private:
  void send_waiting();
  bool receive();

  int channel_ = -1;
  pid_t pid_ = -1;
  std::string waiting_;    // to be sent
  std::string received_;   // not asked for yet
  std::size_t sent_ = 0;   // of waiting_
  std::size_t taken_ = 0;  // of received_
};

}  // namespace d9d
