#include "runtime/task/drop_results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/metric/append_file.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {
namespace {

bool is_before(std::string_view line, std::uint64_t sample) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
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
  static const std::regex lines(R"(\d{5,}\.jsonl)"),
      tensors(R"(\d{5,}-\d{12,}\.safetensors(\.tmp)?)");  // a plugin's files stay
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  for (const std::filesystem::path& file : files) {
    if (std::regex_match(file.filename().string(), lines)) drop_lines(file, sample);
    if (!std::regex_match(file.filename().string(), tensors)) continue;
    if (file.extension() == ".tmp") {
      std::filesystem::remove(file);
    } else {
      drop_tensors(file.string(), sample);
    }
  }
}

}  // namespace d9d
