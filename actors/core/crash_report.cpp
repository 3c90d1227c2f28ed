#include "actors/core/crash_report.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include "actors/core/activity.hpp"
#include "actors/core/file_mapped_at.hpp"
#include "runtime/base/host/users_library.hpp"

namespace d9d {
namespace {

// Everything below this line until report_crashes() runs
// in a signal handler: no allocation, no locks, no printf.

struct Library {
  std::array<char, 256> name{};
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

constexpr int plugins_max = 32;
constexpr int frames_max = 64;

// Written before the actors start, then only read.
constinit std::array<Library, plugins_max> plugins{};
constinit std::atomic<int> num_plugins{0};

class Line {
 public:
  Line& operator<<(const char* text) {
    for (; *text != '\0' && size_ < text_.size(); ++text) text_[size_++] = *text;
    return *this;
  }
  Line& hex(std::uintptr_t value) {
    std::array<char, 2 * sizeof value + 1> digits{};
    std::size_t at = digits.size() - 1;
    do {
      digits[--at] = "0123456789abcdef"[value % 16];
      value /= 16;
    } while (value != 0);
    return *this << "0x" << digits.data() + at;
  }
  void print() {
    *this << "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_.data(), size_);
  }

 private:
  std::array<char, 1024> text_{};
  std::size_t size_ = 0;
};

const char* name_of_crash(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (a wrong address)";
    case SIGBUS:
      return "SIGBUS (memory that is not there, for example of a file cut short)";
    case SIGFPE:
      return "SIGFPE (integer arithmetic)";
    case SIGILL:
      return "SIGILL (an instruction this processor lacks)";
    default:
      return "SIGABRT (aborted)";
  }
}

const Library* plugin_at(std::uintptr_t address) {
  for (int i = 0; i < num_plugins.load(std::memory_order_acquire); ++i) {
    const Library& plugin = plugins[static_cast<std::size_t>(i)];
    if (address >= plugin.begin && address < plugin.end) return &plugin;
  }
  return nullptr;
}

void add_place(Line& line) {
  if (const Activity* const activity = current_activity()) {
    const char* const message = activity->message.load();
    line << " in " << activity->name.data() << " while handling "
         << (message == nullptr ? "a message" : message);
    return;
  }
  std::array<char, 17> thread{};
  prctl(PR_GET_NAME, thread.data());
  line << " in thread " << thread.data();
}

// Finds the innermost frame of a plugin, because the fault may be in a function that the plugin called.
void add_library(Line& line) {
  std::array<void*, frames_max> frames{};
  const int count = ::backtrace(frames.data(), frames_max);
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
    const Library* const plugin = plugin_at(address);
    if (plugin == nullptr) continue;
    line << ", plugin " << plugin->name.data() << " at +";
    line.hex(address - plugin->begin);
    return;
  }
}

// SIGBUS: another program has shortened a mapped file, so there is no memory after its new end.
void add_file(Line& line, std::uintptr_t address) {
  std::array<char, 512> name{};
  const std::string_view file = file_mapped_at(address, std::span(name).first(name.size() - 1));
  if (file.empty()) return;
  line << ", of the file " << name.data() << ": was it cut short or replaced in place while the job ran?";
}

void report(int signal, siginfo_t* info, void* /*context*/) {
  Line line;
  line << "\nd9d-node: " << name_of_crash(signal);
  add_place(line);
  add_library(line);
  if (signal == SIGSEGV || signal == SIGBUS) {
    line << "; address ";
    line.hex(reinterpret_cast<std::uintptr_t>(info->si_addr));
  }
  if (signal == SIGBUS) add_file(line, reinterpret_cast<std::uintptr_t>(info->si_addr));
  line.print();
  ::raise(signal);  // SA_RESETHAND: the system's own action, once this handler has returned
}

// exit() called by a plugin would destroy objects that other threads use, and one of those
// threads would be blamed.
void report_exit() {
  if (current_activity() == nullptr) return;  // the program itself ends
  Line line;
  line << "\nd9d-node: exit() was called";
  add_place(line);
  line << ": throw an exception to end the job with an error, or call end_job() to end it well";
  line.print();
  std::_Exit(1);
}

int note_library(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto* const library = static_cast<Library*>(data);
  if (info->dlpi_addr != library->begin) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD) {
      library->end = std::max(library->end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
    }
  }
  return 1;
}

class AlternateStack {
 public:
  AlternateStack() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;  // a sanitizer's
    memory_ = std::make_unique<char[]>(stack_bytes);
    stack_t stack{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = stack_bytes};
    sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    if (memory_ == nullptr) return;
    stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr std::size_t stack_bytes = 64 << 10;
  std::unique_ptr<char[]> memory_;
};

}  // namespace

void name_as_plugin(const std::string& path) {
  const int index = num_plugins.load();
  if (index == plugins_max) return;
  void* const handle = open_users_library(path);
  if (handle == nullptr) return;  // the caller that loads it says why
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return;
  Library& library = plugins[static_cast<std::size_t>(index)];
  std::copy_n(path.begin(), std::min(path.size(), library.name.size() - 1), library.name.begin());
  library.begin = map->l_addr;
  dl_iterate_phdr(note_library, &library);
  num_plugins.store(index + 1, std::memory_order_release);
}

void report_crashes() {
  // Loads what backtrace() needs, which the handler may not.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_sigaction = report;
    ours.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
    sigaction(signal, &ours, nullptr);
  }
}

void report_exits() {
  std::atexit(report_exit);
}

void prepare_thread_for_crashes() {
  thread_local const AlternateStack stack;
}

}  // namespace d9d
