#include "tests/support/process/job_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace d9d::test {
namespace {

constexpr bool serves = D9D_LEAVES_AT_ONCE;  // not under sanitizers and coverage, which count by process

void append(std::string& bytes, std::uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append(std::string& bytes, const std::vector<std::string>& texts) {
  append(bytes, static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) {
    append(bytes, static_cast<std::uint32_t>(text.size()));
    bytes += text;
  }
}

// One server for a test binary, started by the first call.
class Server {
 public:
  Server() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    const std::string word = "--socket=" + std::to_string(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
      ::fcntl(ends[1], F_SETFD, 0);
      ::execl(program, program, word.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(socket_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Nothing when the time is over or the server is gone.
  std::optional<int> call(const std::string& request) {
    std::size_t sent = 0;
    while (sent < request.size()) {
      const ssize_t bytes = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (bytes <= 0) return std::nullopt;
      sent += static_cast<std::size_t>(bytes);
    }
    pollfd answer{.fd = socket_, .events = POLLIN, .revents = 0};
    const auto time = std::chrono::milliseconds(patience).count();
    int code = 0;
    if (::poll(&answer, 1, static_cast<int>(time)) <= 0 || ::read(socket_, &code, sizeof code) != sizeof code)
      return std::nullopt;
    return code;
  }

 private:
  static constexpr const char* program = D9D_BINARY_DIR "/d9d_job_server";
  [[noreturn]] static void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace

std::optional<int> call_by_server(const ProcessOptions& options) {
  if (!serves || std::getenv("D9D_NIGHT") != nullptr) return std::nullopt;
  static std::unique_ptr<Server> server;
  if (!server) server = std::make_unique<Server>();
  const OutputFiles files = output_files(options);
  std::string request;
  append(request, {options.folder.string(), files.out.string(), files.err.string()});
  append(request, options.words);
  append(request, environment_of(options));
  const std::optional<int> code = server->call(request);
  if (code) return code;
  server.reset();
  throw std::runtime_error(options.name + ": no end within " + std::to_string(patience.count()) +
                           " s. Its stderr:\n" + text_of_file(files.err));
}

}  // namespace d9d::test
