#include "actors/cli/work_options.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/cpu_quota.hpp"
#include "runtime/base/host/users_library.hpp"
#include "runtime/base/host_limits.hpp"
#include "runtime/job/reading/own_models.hpp"
#include "runtime/resume/input_files.hpp"
#include "runtime/resume/own_folders.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/export_folder.hpp"

namespace d9d {
namespace {

constexpr const char* size_option_name = "--shard-size";
constexpr std::uint64_t shard_bytes_otherwise = 4'000'000'000;
constexpr int threads_otherwise = 4;
constexpr int threads_max = 64;

}  // namespace

OptionSpec shard_size_option() {
  return {size_option_name, "SIZE",
          "the most bytes of a file: 500MB, 0.5GB, 4GiB (4GB); a larger tensor has one of its own. In a job: "
          "export_shard_gb"};
}

// "500MB", "0.1GB", "4GiB" or a number of bytes.
std::uint64_t shard_size_given(const Arguments& arguments) {
  const auto text = arguments.value(size_option_name);
  if (!text) return shard_bytes_otherwise;
  std::size_t digits = 0;
  const auto is_of_number = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
  };
  while (digits < text->size() && is_of_number((*text)[digits])) ++digits;
  const std::string unit = text->substr(digits);
  double factor = 0;
  const std::pair<const char*, double> units[] = {
      {"", 1},      {"B", 1},        {"KB", 1e3},     {"kB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (const auto& [name, bytes] : units)
    if (unit == name) factor = bytes;
  const auto number = config::number_from(text->substr(0, digits));
  const double bytes = number.value_or(0) * factor;
  D9D_REQUIRE(bytes >= 1 && bytes < 0x1p62, "{} {}: expected a size such as 500MB, 0.5GB or 4GiB",
              size_option_name, *text);
  return static_cast<std::uint64_t>(std::llround(bytes));
}

OptionSpec base_option() {
  return {"--base", "DIR", "the model that an adapter belongs to; left out: as its adapter_config.json says"};
}

std::string base_given(const Arguments& arguments) {
  const auto base = arguments.value("--base");
  D9D_REQUIRE(!base || !base->empty(), "--base is empty; give a folder");
  return base.value_or("");
}

void require_other_output(const Arguments& arguments, std::initializer_list<const char*> inputs) {
  const auto out = arguments.value("--out");
  if (!out) return;
  for (const char* input : inputs)
    if (const auto file = arguments.value(input)) require_other_file("--out", *out, input, *file);
  const std::string& folder = arguments.positional().front();
  std::error_code hidden;
  if (!std::filesystem::is_directory(folder, hidden)) return;  // its reader says what is wrong
  for (const DirectoryEntry& entry : PosixDisk().list(folder))
    if (is_model_file(entry.name))
      require_other_file("--out", *out, "MODEL_DIR", join_path(folder, entry.name));
  // Weights have other names than those of an export, too (model.fp16.safetensors), beside results of earlier calls.
  for (const std::string& file : model_files_in(folder)) {
    const std::string name = file_name(file);
    if (name.starts_with("model") || name.starts_with("adapter"))
      require_other_file("--out", *out, "MODEL_DIR", file);
  }
}

OptionSpec families_option() {
  return {"--plugin", "LIB.so", "a library that registers the family of the folder's config.json", true};
}

void load_families_given(const Arguments& arguments) {
  for (const std::string& plugin : arguments.values("--plugin")) {
    D9D_REQUIRE(plugin_function(plugin, "d9d_register_models") != nullptr,
                "the plugin {} has no `d9d_register_models(d9d::ModelRegistry&)`, so no family of models",
                plugin);
    load_own_models(plugin);
  }
}

OptionSpec threads_option() {
  return {"--threads", "N", "that read and write at once; each holds 8 MiB (as many as cores, at most 4)"};
}

int threads_given(const Arguments& arguments) {
  const auto number = arguments.integer("--threads", 1, threads_max);
  if (number) return static_cast<int>(*number);
  return std::min(usable_cores(), threads_otherwise);
}

void use_all_cores_unless_told() {
  // Checked here, because OpenMP would hang when its threads find no memory for their stacks.
  constexpr std::uint64_t stack = 8 << 20;
  constexpr std::uint64_t buffers = 384 << 20;
  const int cores = usable_cores();
  require_address_space(static_cast<std::uint64_t>(cores) * stack + buffers);
  // OpenMP has read this variable already.
  const bool chosen = std::getenv("OMP_NUM_THREADS") != nullptr;
  if (!chosen) at::set_num_threads(cores);
}

}  // namespace d9d
