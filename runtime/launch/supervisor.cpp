#include "runtime/launch/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/base/host/terminal.hpp"
#include "runtime/base/log.hpp"
#include "runtime/launch/end_policy.hpp"
#include "runtime/launch/line_relay.hpp"
#include "runtime/launch/signal_policy.hpp"
#include "runtime/launch/signal_watch.hpp"
#include "runtime/launch/worker_call.hpp"
#include "runtime/launch/worker_process.hpp"

namespace d9d {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";  // of the bar that the first process draws

// Nothing can be done where this process's own output is gone.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The signals of this process, as long as it supervises.
class Signals {
 public:
  Signals() {
    const sigset_t set = signals_of_jobs();
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    pipe_before_ = std::signal(SIGPIPE, SIG_IGN);
    child_before_ =
        std::signal(SIGCHLD, SIG_DFL);  // who ignores it, or whose parent does, hears no exit codes
    descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0)
      throw Error(ErrorKind::environment, fmt::format("cannot wait for signals: {}", std::strerror(errno)));
  }
  ~Signals() {
    ::close(descriptor_);
    std::signal(SIGCHLD, child_before_);
    std::signal(SIGPIPE, pipe_before_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }
  std::optional<int> next() const {
    signalfd_siginfo info{};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  int descriptor_ = -1;
  sigset_t before_{};
  void (*pipe_before_)(int) = SIG_DFL;
  void (*child_before_)(int) = SIG_DFL;
};

// A file without a name that the processes which are started inherit.
class Inherited {
 public:
  explicit Inherited(const std::string& text) : descriptor_(::memfd_create("d9d-job", 0)) {
    if (descriptor_ < 0)
      throw Error(ErrorKind::environment,
                  fmt::format("cannot hand on the job file: {}", std::strerror(errno)));
    write_all(descriptor_, text);
  }
  ~Inherited() { ::close(descriptor_); }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

struct Stream {
  int from = -1;  // -1: there is nothing to come
  int to = -1;
  LineRelay relay;
};

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        job_(options.job),
        signal_policy_(options.grace, same_signal_to_supervisor_within),
        end_policy_(options.grace) {
    if (!is_screen(options_.err)) return;
    log::set_before_line([err = options_.err] { write_all(err, clear_line); });
  }
  ~Supervisor() { log::set_before_line({}); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  int run() {
    start("");
    while (std::any_of(members_.begin(), members_.end(), [](const Member& member) { return member.runs; })) {
      wait();
      while (const auto signal = signals_.next()) take(*signal);
      hear_report();
      for (Member& member : members_) relay(member);
      for (std::size_t i = 0; i < members_.size(); ++i) collect(i);
      push();
    }
    return end_policy_.exit_code();
  }

 private:
  struct Member {
    std::unique_ptr<WorkerProcess> process;
    Stream out, err;
    bool runs = true;
    bool told_to_end = false, killed = false;  // by this process, after another's failure
  };

  void start(const std::string& join) {
    const auto index = static_cast<int>(members_.size());
    const bool first = index == 0;
    const WorkerCall call{{{index, static_cast<int>(options_.workers.size())}, options_.command}, join};
    auto process = std::make_unique<WorkerProcess>(
        WorkerStart{.program = options_.program,
                    .words = options_.words,
                    .environment = {{worker_variable, text_of(call)},
                                    {job_variable, std::to_string(job_.descriptor())},
                                    {secret_variable, options_.secret}},
                    .reports_as = first ? report_variable : "",
                    .shares_output = first});
    const std::string mark = fmt::format("[worker {}] ", index);
    const int out = process->out(), err = process->err();
    members_.push_back(
        {std::move(process), {out, options_.out, LineRelay(mark)}, {err, options_.err, LineRelay(mark)}});
    log::info("{} starts", name(members_.size() - 1));
  }

  void start_others(const std::string& join) {
    if (signal_policy_.stop_signal() != 0) return;
    try {
      while (members_.size() < options_.workers.size()) start(join);
    } catch (const Error& error) {
      log::error("{}", error.what());
      end_policy_.ended(1, clock_.now_ns());
      tell_all_to_end();
    }
  }

  std::string name(std::size_t index) const {
    return fmt::format("worker {} of {} ({}; process {})", index, options_.workers.size(),
                       options_.workers[index], members_[index].process->pid());
  }

  void wait() {
    std::vector<pollfd> sources{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    const auto add = [&](int descriptor) {
      if (descriptor >= 0) sources.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    };
    if (!report_over_) add(members_.front().process->report());
    for (const Member& member : members_) {
      if (member.runs) add(member.process->ended());
      add(member.out.from);
      add(member.err.from);
    }
    int timeout_ms = -1;
    if (const auto deadline = end_policy_.deadline_ns()) {
      constexpr std::int64_t ns_of_ms = 1'000'000;
      timeout_ms = static_cast<int>(std::max<std::int64_t>(0, *deadline - clock_.now_ns()) / ns_of_ms) + 1;
    }
    ::poll(sources.data(), sources.size(), timeout_ms);
  }

  void take(int signal) {
    switch (signal_policy_.arrived(signal, true, clock_.now_ns())) {
      case SignalPolicy::Action::ignore:
        return;
      case SignalPolicy::Action::tell:
        if (SignalPolicy::is_wish(signal)) return tell_wish(signal);
        [[fallthrough]];
      case SignalPolicy::Action::tell_now:
        end_policy_.asked_to_end(*signal_policy_.deadline_ns());
        return tell_all(signal);
      case SignalPolicy::Action::leave:
        return kill_all();
    }
  }

  // All ranks agree on it, so that one process is enough. One that is not ready yet would end by it.
  void tell_wish(int signal) {
    for (const Member& member : members_) {
      if (member.runs && report_over_ && !address_.empty()) return member.process->signal(signal);
    }
    log::warn("{}: the job has not begun, there is nothing to do", signal_name(signal));
  }

  void tell_all(int signal) {
    for (const Member& member : members_) {
      if (member.runs) member.process->signal(signal);
    }
  }

  void tell_all_to_end() {
    for (Member& member : members_) member.told_to_end = true;
    tell_all(SIGTERM);
  }

  void kill_all() {
    for (Member& member : members_) member.killed = member.killed || member.runs;
    tell_all(SIGKILL);
  }

  void hear_report() {
    if (report_over_) return;
    std::array<char, 256> piece{};
    const ssize_t size = ::read(members_.front().process->report(), piece.data(), piece.size());
    if (size < 0) return;
    report_over_ = size == 0;
    address_.append(piece.data(), static_cast<std::size_t>(size));
    const std::size_t end = address_.find('\n');
    if (end == std::string::npos) return;
    report_over_ = true;
    address_.resize(end);
    start_others(address_);
  }

  void relay(Member& member) const {
    for (Stream* stream : {&member.out, &member.err}) {
      std::array<char, 4096> piece{};
      while (stream->from >= 0) {
        const ssize_t size = ::read(stream->from, piece.data(), piece.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) break;  // nothing for now
        print(*stream, size == 0 ? stream->relay.rest()
                                 : stream->relay.add({piece.data(), static_cast<std::size_t>(size)}));
        if (size == 0) stream->from = -1;
      }
    }
  }

  static void print(const Stream& stream, const std::string& lines) {
    if (lines.empty()) return;
    write_all(stream.to, (is_screen(stream.to) ? std::string(clear_line) : std::string()) + lines);
  }

  void collect(std::size_t index) {
    Member& member = members_[index];
    if (!member.runs || !member.process->code()) return;
    member.runs = false;
    relay(member);
    for (Stream* stream : {&member.out, &member.err}) {
      print(*stream, stream->relay.rest());
      stream->from = -1;  // programs that it has started may hold the other end
    }
    say_how_it_ended(index);
    end_policy_.ended(*member.process->code(), clock_.now_ns());
  }

  void say_how_it_ended(std::size_t index) {
    const Member& member = members_[index];
    const int code = *member.process->code();
    if (member.killed) return log::error("{} did not end in time and was killed", name(index));
    const auto signal = member.process->signal_of_death();
    if (member.told_to_end) return log::info("{} ended when it was told to", name(index));
    if (signal && *signal != signal_policy_.stop_signal()) {
      return log::error("{} was killed by {}{}. The job is over", name(index), signal_name(*signal),
                        *signal == SIGKILL ? ": by hand, or by the kernel because memory ran out" : "");
    }
    if (code == exit_of_no_program) {
      return log::error(
          "{} ended with exit code {}: {} cannot be executed a second time, or does not find its libraries; "
          "set node.processes: 1 to do without",
          name(index), code, options_.words.front());
    }
    // Its own words say what was wrong, or it was asked to end.
    const bool alone = members_.size() == 1, stopped = code > exit_of_signal;
    if (code == 0 || alone || stopped) return log::debug("{} ended with exit code {}", name(index), code);
    if (end_policy_.exit_code() == 0) return log::error("{} ended with exit code {}", name(index), code);
    log::info("{} ended with exit code {}", name(index), code);
  }

  void push() {
    switch (end_policy_.due(clock_.now_ns())) {
      case Push::none:
        return;
      case Push::terminate:
        return tell_all_to_end();
      case Push::kill:
        return kill_all();
    }
  }

  const SupervisorOptions& options_;
  const Clock& clock_;
  const Inherited job_;
  const Signals signals_;
  SignalPolicy signal_policy_;
  EndPolicy end_policy_;
  std::deque<Member> members_;
  std::string address_;  // of node 0, as the first process has said it
  bool report_over_ = false;
};

}  // namespace

int supervise(const SupervisorOptions& options, const Clock& clock) {
  return Supervisor(options, clock).run();
}

}  // namespace d9d
