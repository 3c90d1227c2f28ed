#include "actors/cli/work_options.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <thread>
#include <utility>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host_limits.hpp"

namespace d9d {
namespace {

constexpr const char* size_option_name = "--shard-size";
constexpr std::uint64_t shard_bytes_otherwise = 4'000'000'000;
constexpr int threads_otherwise = 4;
constexpr int threads_max = 64;

}  // namespace

OptionSpec shard_size_option() {
  return {size_option_name, "SIZE", "the most bytes of a file: 500MB, 4GB (4GB)"};
}

// "500MB", "4GB", "4GiB" or a number of bytes.
std::uint64_t shard_size_given(const Arguments& arguments) {
  const auto text = arguments.value(size_option_name);
  if (!text) return shard_bytes_otherwise;
  std::size_t digits = 0;
  while (digits < text->size() && std::isdigit(static_cast<unsigned char>((*text)[digits])) != 0) ++digits;
  const std::string unit = text->substr(digits);
  std::uint64_t factor = 0;
  const std::pair<const char*, std::uint64_t> units[] = {
      {"", 1}, {"MB", 1'000'000}, {"GB", 1'000'000'000}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  for (const auto& [name, bytes] : units)
    if (unit == name) factor = bytes;
  const auto number = config::integer_from(text->substr(0, digits));
  const bool good = number && *number > 0 && factor > 0 &&
                    static_cast<std::uint64_t>(*number) < std::numeric_limits<std::int64_t>::max() / factor;
  D9D_REQUIRE(good, "{} {}: expected a size such as 500MB, 4GB or 4GiB", size_option_name, *text);
  return static_cast<std::uint64_t>(*number) * factor;
}

OptionSpec threads_option() {
  return {"--threads", "N", "that read and write at once; each holds 8 MiB (as many as cores, at most 4)"};
}

int threads_given(const Arguments& arguments) {
  const auto number = arguments.integer("--threads", 1, threads_max);
  if (number) return static_cast<int>(*number);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, threads_otherwise);
}

void use_all_cores_unless_told() {
  // OpenMP would hang where its threads find no room.
  constexpr std::uint64_t stack = 8 << 20;
  constexpr std::uint64_t buffers = 384 << 20;
  require_address_space(std::thread::hardware_concurrency() * stack + buffers);
  // OpenMP has read this one already.
  const bool chosen = std::getenv("OMP_NUM_THREADS") != nullptr;
  if (!chosen) at::set_num_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

}  // namespace d9d
