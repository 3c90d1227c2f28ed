// d9d-node sleep, wake: a running job frees the memory of weights and optimizer, and restores it.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "actors/cli/running_commands.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/launch/job_token.hpp"
#include "runtime/live/http_post.hpp"
#include "runtime/report/page.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {
namespace {

struct Wish {
  int signal;
  const char* action;  // its name in the live page
  const char* outcome;
};
constexpr Wish sleep_wish{SIGTSTP, report::sleep_action, "falls asleep after the step in work"};
constexpr Wish wake_wish{SIGCONT, report::wake_action, "wakes where it sleeps"};

// Finds the process that holds the run's folder, which is node 0's.
void signal_run(const Wish& wish, const std::string& folder, Console& console) {
  const auto holder = holder_of(folder);
  D9D_REQUIRE(holder, "no job runs in {}: it has no {}. Give the output_dir of a running job (runs/NAME)",
              folder, lock_name);
  const auto runs = is_running(*holder);
  D9D_REQUIRE(
      runs,
      "the job in {} runs on host {}, where this command cannot reach process {}: call it there, or give "
      "the address of node.status instead of the folder",
      folder, holder->host, holder->pid);
  D9D_REQUIRE(*runs, "no job runs in {}: process {}, which had it, is gone", folder, holder->pid);
  if (::kill(static_cast<pid_t>(holder->pid), wish.signal) != 0) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot tell process {} of run {}: {}", holder->pid, holder->run,
                            std::error_code(errno, std::generic_category()).message()));
  }
  console.out << fmt::format("run {}, process {}: it {}; its log says when\n", holder->run, holder->pid,
                             wish.outcome);
}

int ask(const Wish& wish, const Arguments& arguments, Console& console) {
  const std::string& whom = arguments.positional().front();
  if (std::filesystem::is_directory(whom)) {
    signal_run(wish, whom, console);
    return 0;
  }
  D9D_REQUIRE(whom.find(':') != std::string::npos && whom.find('/') == std::string::npos,
              "{} is no folder and no HOST:PORT; give the output_dir of a running job (runs/NAME), or its "
              "node.status",
              whom);
  const char* const token = std::getenv(token_variable);
  const live::HttpAnswer answer = live::post(parse_host_port(whom, "the job's address"), wish.action, whom,
                                             token != nullptr ? token : "");
  if (answer.status == 403) {
    throw Error(ErrorKind::input,
                fmt::format("{}: {}. This command sends the token that the variable {} gives", whom,
                            answer.body.substr(0, answer.body.find('\n')), token_variable));
  }
  if (answer.status != 202) {
    throw Error(ErrorKind::environment, fmt::format("what answers at {} is no job's page: {} to POST {}",
                                                    whom, answer.status, wish.action));
  }
  console.out << answer.body;
  return 0;
}

Command command_of(const Wish& wish, const char* name, const char* summary) {
  return {
      .name = name,
      .positional = "RUN_DIR|HOST:PORT",
      .summary = summary,
      .positional_min = 1,
      .positional_max = 1,
      .run = [wish](const Arguments& arguments, Console& console) { return ask(wish, arguments, console); },
      .details =
          "RUN_DIR is the output_dir of a job whose node 0 runs on this host; HOST:PORT its node.status, "
          "from anywhere with the job's token in the variable D9D_JOB_TOKEN.\nAll ranks of all nodes follow "
          "after the same step, as after SIGTSTP and SIGCONT.\n",
      .examples = {fmt::format("{} runs/quickstart", name), fmt::format("{} 127.0.0.1:8080", name)}};
}

}  // namespace

Command sleep_command() {
  return command_of(sleep_wish, "sleep",
                    "have a running job hand back the memory of weights and optimizer, and its connections");
}

Command wake_command() {
  return command_of(wake_wish, "wake", "have a job that sleeps take its memory again and go on");
}

}  // namespace d9d
