#pragma once
// The processes of a command that shares its ranks among several: starts them, passes on signals and what they print,
// waits for all of them, and leaves none behind. Computes nothing and has one thread.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/clock.hpp"

namespace d9d {

struct SupervisorOptions {
  std::string program = "/proc/self/exe";
  std::vector<std::string> words;    // of this command: each process has the same
  std::string job{};                 // the text of the job file
  std::vector<std::string> workers;  // what each of them has, for people: "ranks 2, 3"
  std::uint64_t command = 0;         // random
  std::string secret{};              // random: what these processes alone know
  std::chrono::nanoseconds grace{};  // for the job to end by itself
  int out = STDOUT_FILENO;
  int err = STDERR_FILENO;
};

// The first process is started alone; the others when it has found nothing wrong with the job and knows where node 0
// is. Returns when all have ended: the exit code of the first that failed (128 + the signal that killed it), else 0.
// SIGTERM, SIGINT and SIGHUP go to all of them, wishes (SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT) to the first. Environment
// error: the first one cannot be started.
int supervise(const SupervisorOptions& options, const Clock& clock);

}  // namespace d9d
