#include "runtime/task/result_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace d9d {
namespace {

constexpr std::size_t waiting_max = 1 << 20;

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

}  // namespace

ResultLines::ResultLines(const std::filesystem::path& folder, int rank)
    : path_(folder / fmt::format("{:05}.jsonl", rank)) {}

void ResultLines::add(std::int64_t sample, nlohmann::ordered_json values) {
  nlohmann::ordered_json line{{"sample", sample}};
  line.update(values);
  waiting_ += line.dump() + "\n";
  if (waiting_.size() >= waiting_max) flush();
}

void ResultLines::flush() {
  if (waiting_.empty()) return;
  if (!file_) file_.emplace(path_, AppendFile::Mode::keep);
  file_->append(waiting_);
  waiting_.clear();
}

void drop_results_from(const std::filesystem::path& folder, std::uint64_t sample) {
  if (!std::filesystem::is_directory(folder)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    const std::string text = read_whole_file(entry.path());
    const std::string kept = lines_before(text, sample);
    if (kept != text) replace_file(entry.path(), kept);
  }
}

}  // namespace d9d
