#include "runtime/launch/worker_call.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "runtime/base/config/parse.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Up to the next slash, which is taken away too.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || next == end || *next != '/') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(next - text.data()) + 1);
  return number;
}

}  // namespace

std::string text_of(const WorkerCall& call) {
  const Worker& worker = call.worker;
  return fmt::format("{}/{}/{}/{}", worker.share.index, worker.share.count, worker.command, call.join);
}

std::optional<WorkerCall> worker_call(const Variables& variables) {
  const std::string* given = find_variable(variables, worker_variable);
  if (given == nullptr) return std::nullopt;
  std::string_view text = *given;
  const auto index = take_number(text), count = take_number(text), command = take_number(text);
  D9D_REQUIRE(index && count && command && *index < *count && *count <= processes_max,
              "{} is \"{}\", which no d9d-node has written: unset it, and set node.processes in the job file",
              worker_variable, *given);
  WorkerCall call{{{static_cast<int>(*index), static_cast<int>(*count)}, *command}, std::string(text)};
  if (const std::string* secret = find_variable(variables, secret_variable)) call.worker.secret = *secret;
  if (const auto report = number_in(variables, report_variable, 0, 1 << 20)) call.report = report->value;
  if (const auto job = number_in(variables, job_variable, 0, 1 << 20)) call.job = job->value;
  return call;
}

std::optional<WorkerCall> take_worker_call(const Variables& variables) {
  const auto call = worker_call(variables);
  ::unsetenv(worker_variable);
  ::unsetenv(secret_variable);
  ::unsetenv(report_variable);
  ::unsetenv(job_variable);
  if (call && call->report >= 0) ::fcntl(call->report, F_SETFD, FD_CLOEXEC);
  if (call && call->job >= 0) ::fcntl(call->job, F_SETFD, FD_CLOEXEC);
  return call;
}

std::optional<std::string> job_text_of(const WorkerCall& call) {
  if (call.job < 0) return {};
  // By its path, because all processes share the place where the next read through the descriptor would begin.
  const std::string text = config::read_config_text(fmt::format("/proc/self/fd/{}", call.job));
  ::close(call.job);
  return text;
}

void report_ready(const WorkerCall& call, const std::string& address) {
  if (call.report < 0) return;
  const std::string line = address + "\n";
  // A parent that is gone has ended this process, too.
  static_cast<void>(!::write(call.report, line.data(), line.size()));
  ::close(call.report);
}

}  // namespace d9d
