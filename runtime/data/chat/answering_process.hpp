#pragma once
// Runs another program that answers lines with lines. The program is killed with this object. If
// this process ends in any way, the program's input ends too. One thread.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

class AnsweringProcess {
 public:
  // Starts the program and drops its standard error. Environment error: it cannot be started.
  explicit AnsweringProcess(const std::vector<std::string>& words);
  ~AnsweringProcess();  // kills it
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  // Sends a line without waiting. Bytes that the program does not accept yet are sent by the next
  // call of say() or answer().
  void say(std::string_view line);
  // Returns the next line without its end. Nothing: the program has ended, or no
  // line came within `patience`.
  std::optional<std::string> answer(std::chrono::milliseconds patience);

 private:
  void send_waiting();
  bool receive();

  int channel_ = -1;
  pid_t pid_ = -1;
  std::string waiting_;    // to be sent
  std::string received_;   // lines that answer() has not returned yet
  std::size_t sent_ = 0;   // of waiting_
  std::size_t taken_ = 0;  // of received_
};

}  // namespace d9d
