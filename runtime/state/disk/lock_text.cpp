#include "runtime/state/disk/lock_text.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/json_text.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_error.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t lock_bytes_max = 65536;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string this_machine() {
  std::error_code ignored;
  const auto pids = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  return boot.empty() || pids.empty() ? "" : boot + " " + pids;
}

}  // namespace

LockHolder LockHolder::this_process(const std::string& run, const std::string& tag) {
  const long pid = ::getpid();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {.host = host_name(),
          .machine = this_machine(),
          .pid = pid,
          .started = start_of_process(pid).value_or(""),
          .run = run,
          .tag = tag,
          .since = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now))};
}

std::string to_text(const LockHolder& holder) {
  const nlohmann::ordered_json json{
      {"run", holder.run},         {"host", holder.host},       {"pid", holder.pid}, {"since", holder.since},
      {"machine", holder.machine}, {"started", holder.started}, {"tag", holder.tag}};
  return shown_json(json, 1) + "\n";
}

LockHolder holder_from(const std::string& text) {
  const auto json = try_parse_json<nlohmann::json>(text);
  const auto word = [&](const char* key) {
    const bool there = json.is_object() && json.contains(key) && json.at(key).is_string();
    return there ? json.at(key).get<std::string>() : std::string();
  };
  LockHolder holder{.host = word("host"),
                    .machine = word("machine"),
                    .started = word("started"),
                    .run = word("run"),
                    .tag = word("tag"),
                    .since = word("since")};
  if (json.is_object() && json.contains("pid") && json.at("pid").is_number_integer())
    holder.pid = json.at("pid").get<long>();
  return holder;
}

std::string describe(const LockHolder& holder) {
  if (holder.host.empty()) return "its job.lock does not say whose";
  return fmt::format("run {}, process {} on host {}, since {}", holder.run, holder.pid, holder.host,
                     holder.since);
}

std::optional<std::string> read_lock(const std::string& path) {
  try {
    return read_text(PosixDisk(), path, lock_bytes_max);
  } catch (const DiskError& error) {
    if (error.error_number() == ENOENT || error.error_number() == ESTALE) return {};
    throw;
  }
}

// /proc/<pid>/stat: the name in brackets may hold anything; after it come the state and, 19 fields on, the start.
std::optional<std::string> start_of_process(long pid) {
  const std::string stat = first_line_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(stat.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr std::size_t start = 19;
  const bool dead = fields.empty() || fields[0] == "Z" || fields[0] == "X";
  if (dead || fields.size() <= start) return {};
  return fields[start];
}

}  // namespace d9d
