#include "runtime/task/result/drop_results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {
namespace {

bool is_number(std::string_view text, std::size_t digits_min) {
  return text.size() >= digits_min && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "00012.jsonl": of a rank.
bool has_lines(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" && is_number(file.stem().string(), 5);
}

// "00012-000000000640.safetensors": of a rank, by the first sample; ".tmp" after it while it is written.
bool has_tensors(const std::filesystem::path& file) {
  const std::filesystem::path whole = file.extension() == ".tmp" ? file.stem() : file.filename();
  const std::string name = whole.stem().string();
  const std::size_t dash = name.find('-');
  return whole.extension() == ".safetensors" && dash != std::string::npos &&
         is_number(std::string_view(name).substr(0, dash), 5) &&
         is_number(std::string_view(name).substr(dash + 1), 12);
}

bool is_before(std::string_view line, std::uint64_t sample) {
  const auto json = try_parse_json<nlohmann::json>(line);
  if (!json.is_object()) return false;
  const auto number = json.find("sample");
  return number != json.end() && number->is_number_unsigned() && number->get<std::uint64_t>() < sample;
}

std::string lines_before(std::string_view text, std::uint64_t sample) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, newline - begin);
    if (newline < text.size() && is_before(line, sample)) kept.append(line).push_back('\n');
    begin = newline + 1;
  }
  return kept;
}

void drop_lines(const std::filesystem::path& file, std::uint64_t sample) {
  const std::string text = read_whole_file(file);
  const std::string kept = lines_before(text, sample);
  if (kept != text) replace_file(file, kept);
}

void drop_tensors(const std::string& path, std::uint64_t sample) {
  PosixDisk disk;
  const SafetensorsReader reader(disk, path);
  const std::vector<std::string> names = reader.names();
  D9D_REQUIRE(std::find(names.begin(), names.end(), "sample") != names.end(),
              "{} is no file of results: it has no tensor `sample`; move it out of the folder", path);
  const at::Tensor samples = reader.read("sample");
  D9D_REQUIRE(samples.dim() == 1 && samples.scalar_type() == at::kLong && samples.numel() > 0,
              "{} is no file of results: its `sample` is {} of {} dimensions; move it out of the folder",
              path, c10::toString(samples.scalar_type()), samples.dim());
  if (samples.max().item<std::int64_t>() >= static_cast<std::int64_t>(sample)) disk.remove_all(path);
}

}  // namespace

void drop_results_from(const std::filesystem::path& folder, std::uint64_t sample) {
  if (!std::filesystem::is_directory(folder)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  for (const std::filesystem::path& file : files) {
    if (has_lines(file)) drop_lines(file, sample);
    if (!has_tensors(file)) continue;  // a plugin's files stay
    if (file.extension() == ".tmp") {
      std::filesystem::remove(file);
    } else {
      drop_tensors(file.string(), sample);
    }
  }
}

}  // namespace d9d
