#include "actors/cli/own_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "actors/cli/begin_process.hpp"
#include "actors/cli/cli_main.hpp"
#include "actors/cli/running_commands.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/host/library_settings.hpp"
#include "runtime/base/host/users_library.hpp"
#include "runtime/base/version.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/worker_call.hpp"

namespace d9d {
namespace {

// Ends main() in a process that was started for one job. No std::exception, so that a body which goes on after the
// error of a job does not go on here.
struct JobOfWorkerEnded {
  int exit_code;
};

// Tells the processes that share a job which of the program's jobs it is: they run main() from its beginning.
constexpr const char* number_variable = "D9D_OWN_PROGRAM_JOB";

// 0: a user has started this process.
int number_of_worker() {
  const char* const number = std::getenv(number_variable);
  return std::getenv(worker_variable) == nullptr || number == nullptr ? 0 : std::atoi(number);
}

// The change that adds this program to the libraries of the job file.
std::string with_own_pieces(const config::Node& file) {
  const config::Node* const plugins = file.find("plugins");
  const bool lists = plugins != nullptr && plugins->kind == config::Node::Kind::list;
  return lists ? fmt::format("plugins.{}={}", plugins->items.size(), this_program)
               : fmt::format("plugins=[{}]", this_program);
}

// Returns the exit code.
int call(const Command& command, const std::vector<std::string>& words) {
  Console console{std::cout, std::cerr};
  return command.run(parse_arguments(words, command), console);
}

}  // namespace

struct OwnProgram::Process {
  std::vector<std::string> words;  // of its command line
  TensorBytes tensor_bytes_max;
  const int number_of_worker;  // of the job that this process was started for; 0: for none
  int jobs = 0;                // so far
};

OwnProgram::OwnProgram(int argc, char** argv)
    : process_(std::make_unique<Process>(Process{{argv, argv + argc}, begin_process(), number_of_worker()})) {
}

OwnProgram::~OwnProgram() = default;

ConfiguredJob OwnProgram::configure(const std::string& file, std::vector<std::string> changes) const {
  const config::Node read = config::parse(config::read_config_text(file), file);
  changes.insert(changes.begin(), with_own_pieces(read));
  return {file, changes, load_job(read, changes).job};
}

void OwnProgram::train(const ConfiguredJob& job) {
  const int number = ++process_->jobs, of_worker = process_->number_of_worker;
  if (number < of_worker) return;  // it has ended well: else the program would not have come further
  setenv(number_variable, std::to_string(number).c_str(), 1);
  const Command command = run_command(build_id(), process_->words, process_->tensor_bytes_max);
  std::vector<std::string> words{job.file};
  for (const std::string& change : job.changes) words.insert(words.end(), {"--set", change});
  const int exit_code = call(command, words);
  if (of_worker > 0) throw JobOfWorkerEnded{exit_code};
  if (exit_code != 0) throw JobFailed(exit_code);
}

bool OwnProgram::is_main(const ConfiguredJob& job) const {
  return process_->number_of_worker == 0 && !with_environment({}, job.config, environment_variables()).join;
}

void OwnProgram::export_model(const ConfiguredJob& job, const std::string& folder) const {
  if (!is_main(job)) return;
  const int exit_code = call(export_command(), {checkpoint_dir(job.config).string(), folder});
  if (exit_code != 0) throw JobFailed(exit_code);
}

int run_program(int argc, char** argv, const std::function<void(OwnProgram&)>& body) {
  if (set_library_settings() && ::execv(this_program, argv) != 0)
    std::fprintf(stderr, "%s: warning: cannot start anew with OpenMP's settings: %s\n", argv[0],
                 std::strerror(errno));
  try {
    OwnProgram program(argc, argv);
    body(program);
    return 0;
  } catch (const JobOfWorkerEnded& ended) {
    return ended.exit_code;
  } catch (const JobFailed& failed) {
    return failed.exit_code;
  } catch (...) {
    return report_exception(argv[0], std::cerr);
  }
}

}  // namespace d9d
