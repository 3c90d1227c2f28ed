#pragma once
// What a signal means, by what came before it. Knows neither threads nor the system's signals: the SignalWatch asks.

#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/base/host/signal_name.hpp"

namespace d9d {

// A launcher passes on what a terminal or a scheduler has sent to all processes already: within this time a signal is
// the same one. A supervisor takes it longer than its workers. They then never take for the same what it takes for the
// second one, however late they heard of the first.
inline constexpr std::chrono::milliseconds same_signal_within{250}, same_signal_to_supervisor_within{500};

class SignalPolicy {
 public:
  enum class Action {
    ignore,    // the same signal from another sender: launchers and terminals both send it
    tell,      // to the job: at the end of the step
    tell_now,  // to the job: without finishing the step
    leave,     // at once, without the job
  };

  explicit SignalPolicy(std::chrono::nanoseconds grace,
                        std::chrono::nanoseconds same_within = same_signal_within)
      : grace_(grace), same_within_(same_within) {}

  // Asks for something of a job that goes on; others ask it to end.
  static bool is_wish(int signal);

  // `running`: there is a job that can be told.
  Action arrived(int signal, bool running, std::int64_t now_ns);
  // When the process leaves whatever the job does; none before a signal to stop.
  std::optional<std::int64_t> deadline_ns() const { return deadline_ns_; }
  int exit_code() const { return exit_of_signal + stop_signal_; }
  int stop_signal() const { return stop_signal_; }  // 0: none came
  bool hurries() const { return hurries_; }         // the second one has come

 private:
  const std::chrono::nanoseconds grace_, same_within_;
  int stop_signal_ = 0;
  bool hurries_ = false;
  std::int64_t last_ns_ = 0;
  std::optional<std::int64_t> deadline_ns_;
};

}  // namespace d9d
