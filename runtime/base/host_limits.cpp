#include "runtime/base/host_limits.hpp"

#include <sys/resource.h>

#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;
constexpr std::uint64_t bytes_per_kib = 1024;

// Bytes of "MemAvailable:  123 kB" in /proc/meminfo or /proc/self/status; 0 when it is not there.
std::uint64_t proc_bytes(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::uint64_t value = 0;
    if (word == key && in >> value) return value * bytes_per_kib;
  }
  return 0;
}

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / bytes_per_gib);
}

rlim_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string shown(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

// All of them wait until the last one is there.
class Gathering {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace

std::uint64_t process_bytes() {
  return proc_bytes("/proc/self/status", "VmRSS:");
}

std::string memory_situation() {
  std::string text = fmt::format("{} of the host are free (MemAvailable), this process uses {}",
                                 gib(proc_bytes("/proc/meminfo", "MemAvailable:")), gib(process_bytes()));
  const rlim_t limit = limit_of(RLIMIT_AS);
  if (limit != RLIM_INFINITY) {
    text += fmt::format(", and its address space is {} of {} (ulimit -v)",
                        gib(proc_bytes("/proc/self/status", "VmSize:")), gib(limit));
  }
  return text;
}

std::string out_of_memory_report(std::string_view text) {
  const bool torch = text.find("DefaultCPUAllocator") != std::string_view::npos;
  const bool ours = text.find("out of memory") != std::string_view::npos;
  if (!torch && !ours) return {};
  std::string wanted(text.substr(0, std::min(text.find("\nException raised"), text.find('\n'))));
  if (wanted.find(device_memory_words) != std::string::npos) return wanted;
  const std::string_view asked = "you tried to allocate ";
  if (const std::size_t at = wanted.find(asked); at != std::string::npos) {
    const std::size_t end = wanted.find(". ", at);
    wanted = "out of memory: wanted " + wanted.substr(at + asked.size(), end - at - asked.size());
  }
  return fmt::format(
      "{}; {}. Lower trainer.batching.microbatch_size (generate: --batch), take shorter samples or a smaller "
      "model, or more ranks on more hosts",
      wanted, memory_situation());
}

void require_address_space(std::uint64_t bytes) {
  const rlim_t limit = limit_of(RLIMIT_AS);
  if (limit == RLIM_INFINITY) return;
  const std::uint64_t used = proc_bytes("/proc/self/status", "VmSize:");
  if (used + bytes <= limit) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("the address space of this process is limited to {} (ulimit -v), of which {} are taken; it "
                  "needs {} more for its threads and buffers. Raise the limit, or lift it: ulimit -v "
                  "unlimited",
                  gib(limit), gib(used), gib(bytes)));
}

void require_threads(int count) {
  std::vector<std::thread> threads;
  struct JoinAll {
    std::vector<std::thread>& threads;
    ~JoinAll() {
      for (std::thread& thread : threads) thread.join();
    }
  } join_all{threads};
  require_threads(count, [&](std::function<void()> body) { threads.emplace_back(std::move(body)); });
}

void require_threads(int count, const StartThread& start) {
  const auto gathering = std::make_shared<Gathering>();
  struct Open {
    Gathering& gathering;
    ~Open() { gathering.open(); }
  } open{*gathering};
  for (int i = 0; i < count; ++i) {
    try {
      start([gathering] { gathering->wait(); });
    } catch (const std::system_error& error) {
      throw Error(
          ErrorKind::environment,
          fmt::format("this process needs about {} threads and the system refused number {} ({}). Raise the "
                      "limit: ulimit -u is {}, ulimit -v is {}, and the cgroup may have a pids.max; or take "
                      "fewer ranks on this host",
                      count, i + 1, error.code().message(), shown(limit_of(RLIMIT_NPROC)),
                      shown(limit_of(RLIMIT_AS))));
    }
  }
}

}  // namespace d9d
