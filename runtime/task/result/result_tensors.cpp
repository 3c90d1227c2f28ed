#include "runtime/task/result/result_tensors.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {
namespace {

constexpr const char* sample_key = "sample";

bool may_be_filled_up(const at::Tensor& column) {
  return column.dim() == 2 && !column.is_floating_point();
}

at::Tensor joined(std::vector<at::Tensor>& parts) {
  if (!may_be_filled_up(parts.front())) return at::cat(parts);
  std::int64_t longest = 0;
  for (const at::Tensor& part : parts) longest = std::max(longest, part.size(1));
  // -1 is no id of a token, nor a row of a file.
  for (at::Tensor& part : parts) part = at::constant_pad_nd(part, {0, longest - part.size(1)}, -1);
  return at::cat(parts);
}

}  // namespace

void ResultTensors::add(const ResultRows& rows) {
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < rows.samples.size(); ++i)
    if (rows.samples[i] >= 0) kept.push_back(static_cast<std::int64_t>(i));
  if (kept.empty()) return;
  const at::Tensor index = at::tensor(kept, at::kLong);
  std::vector<std::pair<std::string, at::Tensor>> columns{{sample_key, at::tensor(rows.samples, at::kLong)}};
  for (auto& column : places_of(rows.samples)) columns.push_back(std::move(column));
  columns.insert(columns.end(), rows.columns.begin(), rows.columns.end());
  const bool first = waiting_.empty();
  if (first) waiting_.resize(columns.size());
  D9D_CHECK(waiting_.size() == columns.size(), "results: {} columns after rows of {}", columns.size() - 1,
            waiting_.size() - 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& [key, given] = columns[i];
    auto& [waiting_key, parts] = waiting_[i];
    if (first) waiting_key = key;
    const at::Tensor here = given.detach().cpu();
    const at::Tensor part = kept.size() == rows.samples.size() ? here : here.index_select(0, index);
    const bool alike =
        first || (waiting_key == key && parts.front().dim() == part.dim() &&
                  (may_be_filled_up(part) || parts.front().sizes().slice(1) == part.sizes().slice(1)));
    D9D_CHECK(alike, "results: {} of other sizes than {} of before", key, waiting_key);
    parts.push_back(part);
    bytes_ += part.nbytes();
  }
  if (bytes_ >= bytes_max_) flush();
}

std::int64_t ResultTensors::number_of_file(const RowPlace& place) {
  const auto same = [&](const auto& file) {
    return file.first == place.file && file.second == place.is_line;
  };
  const auto found = std::ranges::find_if(files_, same);
  if (found != files_.end()) return found - files_.begin();
  files_.emplace_back(place.file, place.is_line);
  return std::ssize(files_) - 1;
}

std::vector<std::pair<std::string, at::Tensor>> ResultTensors::places_of(
    const std::vector<std::int64_t>& samples) {
  if (!source_) return {};
  std::vector<std::vector<RowPlace>> places;
  std::size_t most = 0;
  for (const std::int64_t sample : samples) {
    places.push_back(sample < 0 ? std::vector<RowPlace>()
                                : source_->places_of(static_cast<std::uint64_t>(sample)));
    most = std::max(most, places.back().size());
  }
  if (first_places_ == Places::undecided && std::ranges::any_of(samples, [](auto n) { return n >= 0; }))
    first_places_ = most > 0 ? Places::known : Places::unknown;
  if (first_places_ != Places::known) return {};
  const auto rows = std::ssize(samples), width = static_cast<std::ptrdiff_t>(std::max<std::size_t>(most, 1));
  const at::Tensor file = at::full({rows, width}, -1, at::kLong),
                   row = at::full({rows, width}, -1, at::kLong);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < places[i].size(); ++j) {
      const auto at = static_cast<std::ptrdiff_t>(i) * width + static_cast<std::ptrdiff_t>(j);
      file.mutable_data_ptr<std::int64_t>()[at] = number_of_file(places[i][j]);
      row.mutable_data_ptr<std::int64_t>()[at] = static_cast<std::int64_t>(places[i][j].number);
    }
  }
  return {{"source_file", file}, {"source_row", row}};
}

std::map<std::string, std::string> ResultTensors::metadata() const {
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  if (first_places_ != Places::known) return metadata;
  auto files = nlohmann::ordered_json::array();
  for (const auto& [name, is_line] : files_)
    files.push_back({{"file", name}, {"rows_from", is_line ? 1 : 0}});
  metadata["source_files"] = shown_json(files);
  return metadata;
}

TensorMap ResultTensors::take() {
  TensorMap tensors;
  for (auto& [key, parts] : waiting_) tensors[key] = joined(parts);
  waiting_.clear();
  bytes_ = 0;
  return tensors;
}

void ResultTensors::flush() {
  if (folder_.empty() || waiting_.empty()) return;
  const TensorMap tensors = take();
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));
  PosixDisk disk;
  disk.make_directories(folder_.string());
  const auto first = tensors.at(sample_key).min().item<std::int64_t>();
  const std::string path = (folder_ / fmt::format("{:05}-{:012}.safetensors", rank_, first)).string();
  // Renamed at the end: under its name a file is whole, even after a crash.
  SafetensorsWriter writer(disk, path + ".tmp", specs, metadata());
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish(/*sync=*/true);
  disk.rename(path + ".tmp", path);
}

}  // namespace d9d
