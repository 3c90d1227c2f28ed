// d9d_job_server FD: loads what d9d-node loads, once, and then runs a command line in a fork for each request on the
// socket FD (job_server.hpp). Loading LibTorch costs a job of a test more than all else that the job does.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "actors/load_program.hpp"
#include "runtime/base/host/leave_at_once.hpp"
#include "runtime/base/host/start_program.hpp"
#include "tests/support/process/process.hpp"

extern char** environ;

namespace {

using Texts = std::vector<std::string>;

bool read_all(int socket, void* into, std::size_t bytes) {
  char* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = ::read(socket, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// A number, then so many texts, each after its length. False at the end of the test.
bool read_texts(int socket, Texts& texts) {
  std::uint32_t count = 0;
  if (!read_all(socket, &count, sizeof count)) return false;
  texts.assign(count, "");
  for (std::string& text : texts) {
    std::uint32_t bytes = 0;
    if (!read_all(socket, &bytes, sizeof bytes)) return false;
    text.resize(bytes);
    if (!read_all(socket, text.data(), bytes)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  // A supervisor starts its own program anew: as d9d-node.
  const std::string socket_word = "--socket=", first = argc == 2 ? argv[1] : "";
  if (!first.starts_with(socket_word)) {
    ::execv(D9D_BINARY_DIR "/d9d-node", argv);
    return 127;
  }
  const int socket = std::stoi(first.substr(socket_word.size()));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string problem;
  const d9d::ProgramMain run = d9d::load_program(problem);
  if (run == nullptr) {
    std::fprintf(stderr, "d9d_job_server: %s\n", problem.c_str());
    return 1;
  }
  d9d::leave_at_once_on_exit();
  for (Texts places, words, variables;
       read_texts(socket, places) && read_texts(socket, words) && read_texts(socket, variables);) {
    const pid_t job = ::fork();
    if (job == 0) {
      ::close(socket);
      std::vector<char*> arguments = d9d::pointers_to(words), environment = d9d::pointers_to(variables);
      environ = environment.data();
      if (!d9d::test::settle(places.at(0).c_str(), places.at(1).c_str(), places.at(2).c_str())) ::_exit(127);
      std::exit(run(static_cast<int>(words.size()), arguments.data()));
    }
    int status = 0;
    if (job < 0 || ::waitpid(job, &status, 0) != job) return 1;
    const int code = d9d::test::exit_code_of(status);
    if (::write(socket, &code, sizeof code) != sizeof code) return 1;
  }
  return 0;
}
