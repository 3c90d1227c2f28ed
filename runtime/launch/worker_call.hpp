#pragma once
// What a command tells a process that it starts beside others of its host, in variables of its environment.

#include <optional>
#include <string>

#include "runtime/launch/launch_place.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

inline constexpr const char* worker_variable = "D9D_WORKER";
inline constexpr const char* secret_variable = "D9D_WORKER_SECRET";  // of Worker; only this user may read it
inline constexpr const char* report_variable = "D9D_WORKER_REPORT";  // a descriptor, of the first one alone
inline constexpr const char* job_variable = "D9D_WORKER_JOB";        // a descriptor: the text of the job file

struct WorkerCall {
  Worker worker{};
  std::string join;  // where node 0 is; of the first process empty
  int report = -1;   // where it says that the others may come; -1: nowhere
  int job =
      -1;  // where the command's job file is, which may be a pipe that it has read; -1: where the words say
};

// The value of worker_variable.
std::string text_of(const WorkerCall& call);
// Nothing: the user has started this process. Input error for what no command writes.
std::optional<WorkerCall> worker_call(const Variables& variables);
// Of this process, once: programs that it starts are not called by it.
std::optional<WorkerCall> take_worker_call(const Variables& variables);
// The job file as the command has read it, if it says so. Once: closes the descriptor.
std::optional<std::string> job_text_of(const WorkerCall& call);
// Says the address of node 0, and closes the descriptor.
void report_ready(const WorkerCall& call, const std::string& address);

}  // namespace d9d
