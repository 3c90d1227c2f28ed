#include "runtime/task/result/result_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t waiting_max = 1 << 20;

// Values of each row, as JSON takes them.
template <class T>
std::vector<Json> json_of(const at::Tensor& column) {
  const auto* value = column.const_data_ptr<T>();
  const std::int64_t width = column.dim() == 1 ? 1 : column.size(1);
  std::vector<Json> rows;
  for (std::int64_t row = 0; row < column.size(0); ++row, value += width) {
    if (column.dim() == 1) {
      rows.emplace_back(*value);
      continue;
    }
    Json list = Json::array();
    for (std::int64_t i = 0; i < width; ++i)
      if (!std::is_integral_v<T> || value[i] != -1) list.push_back(value[i]);
    rows.push_back(std::move(list));
  }
  return rows;
}

std::vector<Json> json_of_rows(const std::string& key, const at::Tensor& given, std::size_t rows) {
  D9D_CHECK((given.dim() == 1 || given.dim() == 2) && given.size(0) == static_cast<std::int64_t>(rows),
            "results: {} has {} dimensions for {} rows; expected [rows] or [rows, N]", key, given.dim(),
            rows);
  const at::Tensor column = given.detach().cpu().contiguous();
  if (column.scalar_type() == at::kDouble) return json_of<double>(column);
  if (column.is_floating_point()) return json_of<float>(column.to(at::kFloat));
  return json_of<std::int64_t>(column.to(at::kLong));
}

// For joining results with what they were made of.
void add_places(Json& line, const std::vector<RowPlace>& places) {
  if (places.empty()) return;
  const char* const number = places.front().is_line ? "line" : "row";
  const bool alike = std::ranges::all_of(
      places, [&](const RowPlace& place) { return place.is_line == places.front().is_line; });
  if (!alike) return;
  if (places.size() == 1) {
    line["file"] = places.front().file;
    line[number] = places.front().number;
    return;
  }
  const bool one_file =
      std::ranges::all_of(places, [&](const RowPlace& place) { return place.file == places.front().file; });
  if (one_file) line["file"] = places.front().file;
  for (const RowPlace& place : places) {
    if (!one_file) line["file"].push_back(place.file);
    line[number].push_back(place.number);
  }
}

}  // namespace

ResultLines::ResultLines(const std::filesystem::path& folder, int rank,
                         std::shared_ptr<const SampleSource> source)
    : path_(folder / fmt::format("{:05}.jsonl", rank)), source_(std::move(source)) {}

void ResultLines::add(const ResultRows& rows) {
  std::vector<Json> lines;
  for (const std::int64_t sample : rows.samples) {
    lines.push_back(Json{{"sample", sample}});
    if (source_ && sample >= 0)
      add_places(lines.back(), source_->places_of(static_cast<std::uint64_t>(sample)));
  }
  for (const auto& [key, column] : rows.columns) {
    std::vector<Json> values = json_of_rows(key, column, lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i][key] = std::move(values[i]);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (rows.samples[i] < 0) continue;
    if (!rows.texts.empty()) lines[i]["text"] = rows.texts.at(i);
    // A text may end within a character.
    waiting_ += shown_json(lines[i]) + "\n";
  }
  if (waiting_.size() >= waiting_max) flush();
}

void ResultLines::flush() {
  if (waiting_.empty()) return;
  if (!file_) file_.emplace(path_, AppendFile::Mode::keep);
  file_->append(waiting_);
  waiting_.clear();
}

}  // namespace d9d
