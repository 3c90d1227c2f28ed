#pragma once
// The signals of this process: SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are taken from all its
// threads, and one thread of its own waits for them and tells the job. Nothing happens in an asynchronous handler. Made
// before any other thread is started, because threads inherit what is blocked; other commands than `run` keep the
// system's behaviour.

#include <csignal>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/base/clock.hpp"
#include "runtime/launch/signal_policy.hpp"

namespace d9d {

// Those that a job hears. SIGINT also where the parent ignores it: a job that a script starts in the background is
// stopped by it too. Not SIGHUP under `nohup`, which ignores it.
sigset_t signals_of_jobs();

struct SignalWatchOptions {
  std::chrono::seconds grace{25};
  // Ends the process with this exit code; called on the thread of the watch.
  std::function<void(int exit_code, const std::string& why)> leave;
};

class SignalWatch {
 public:
  using Tell = std::function<void(int signal, bool now)>;
  using Unfinished = std::function<std::string()>;

  SignalWatch(const Clock& clock, SignalWatchOptions options);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // While alive there is a job that is told, and that can say what it has not finished.
  class Listener {
   public:
    Listener(SignalWatch& watch, Tell tell, Unfinished unfinished);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    SignalWatch& watch_;
  };

  bool hurries() const;  // a second signal came: what is left is not waited for

 private:
  void run();
  int wait_ms();
  void take();
  void leave(const std::string& why);

  const Clock& clock_;
  const SignalWatchOptions options_;
  mutable std::mutex mutex_;
  SignalPolicy policy_;
  Tell tell_;
  Unfinished unfinished_;
  int signals_ = -1;  // signalfd
  int end_ = -1;      // eventfd: the watch is over
  std::thread thread_;
};

}  // namespace d9d
