#include "tests/support/process/process.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "runtime/base/host/start_program.hpp"

extern char** environ;

namespace d9d::test {
namespace {

constexpr std::chrono::milliseconds poll_period{2};
constexpr int cannot_start_code = 127;

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, char* const* environment, const char* folder, const char* out,
                         const char* err, bool obeys_modes) {
  if (obeys_modes) {
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
  }
  if (settle(folder, out, err)) ::execve(words[0], words, environment);
  ::_exit(cannot_start_code);
}

}  // namespace

bool settle(const char* folder, const char* out, const char* err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out_file = ::open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int err_file = ::open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  return out_file >= 0 && err_file >= 0 && ::dup2(out_file, STDOUT_FILENO) >= 0 &&
         ::dup2(err_file, STDERR_FILENO) >= 0 && ::chdir(folder) == 0;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const char* launcher : {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "RANK", "WORLD_SIZE"}) {
    all.erase(launcher);
  }
  std::erase_if(all, [](const auto& variable) {
    const std::string& name = variable.first;
    return name.starts_with("SLURM_") || name.starts_with("OMPI_") || name.starts_with("PMI");
  });
  for (const auto& [key, value] : options.environment) all[key] = value;
  std::vector<std::string> entries;
  for (const auto& [key, value] : all) entries.push_back(key + "=" + value);
  return entries;
}

OutputFiles output_files(const ProcessOptions& options) {
  return {options.folder / (options.name + ".out"), options.folder / (options.name + ".err")};
}

Process::Process(const ProcessOptions& options) : name_(options.name), files_(output_files(options)) {
  std::vector<std::string> words = options.words;
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    become(word_pointers.data(), environment_pointers.data(), options.folder.c_str(), files_.out.c_str(),
           files_.err.c_str(), options.obeys_modes);
  }
  handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (handle_ < 0) {
    kill();
    throw std::system_error(errno, std::generic_category(), "pidfd_open");
  }
}

Process::~Process() {
  kill();
  if (handle_ >= 0) ::close(handle_);
}

bool Process::ended_within(std::chrono::milliseconds time) {
  if (code_) return true;
  pollfd end{.fd = handle_, .events = POLLIN, .revents = 0};
  if (::poll(&end, 1, static_cast<int>(time.count())) <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw std::system_error(errno, std::generic_category(), "waitpid");
  code_ = exit_code_of(status);
  return true;
}

int Process::wait(std::chrono::seconds deadline) {
  if (!ended_within(deadline)) complain("still runs after " + std::to_string(deadline.count()) + " s");
  return *code_;
}

void Process::wait_until(const std::string& what, const std::function<bool()>& condition,
                         std::chrono::seconds deadline) {
  const auto late = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (ended_within(poll_period)) {
      if (condition()) return;
      complain("ended with code " + std::to_string(*code_) + " before " + what);
    }
    if (std::chrono::steady_clock::now() > late) complain("waited in vain for " + what);
  }
}

void Process::wait_for_error_text(const std::string& text) {
  wait_until("\"" + text + "\" on stderr", [&] { return err().find(text) != std::string::npos; });
}

bool Process::running() {
  return !ended_within(std::chrono::milliseconds(0));
}

void Process::signal(int number) {
  if (code_) return;
  ::kill(pid_, number);
  if (number != SIGSTOP) return;
  // Threads on other cores run on for a moment; whoever stops a process means to change things behind its back.
  siginfo_t stopped;
  ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

void Process::kill() {
  if (code_ || pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  code_ = exit_code_of(status);
}

std::string Process::out() const {
  return text_of_file(files_.out);
}

std::string Process::err() const {
  return text_of_file(files_.err);
}

void Process::complain(const std::string& what) const {
  throw std::runtime_error(name_ + ": " + what + ". Its stderr:\n" + err());
}

}  // namespace d9d::test
