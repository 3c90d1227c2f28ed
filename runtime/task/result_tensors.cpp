#include "runtime/task/result_tensors.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "runtime/base/error.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {
namespace {

constexpr const char* file_end = ".safetensors";
constexpr const char* unfinished_end = ".safetensors.tmp";

template <class T>
at::Tensor view_of(std::vector<T>& values, std::vector<std::int64_t> shape, at::ScalarType type) {
  return at::from_blob(values.data(), shape, type);
}

}  // namespace

void ResultTensors::add(std::int64_t sample, std::optional<std::int64_t> document,
                        std::span<const float> vector) {
  const std::size_t width = samples_.empty() ? vector.size() : vectors_.size() / samples_.size();
  const bool alike = samples_.empty() || document.has_value() == !documents_.empty();
  D9D_CHECK(vector.size() == width && alike, "sample {}: a vector of {} values{} behind others of {}{}",
            sample, vector.size(), document ? " and a document" : "", width,
            documents_.empty() ? "" : " and documents");
  samples_.push_back(sample);
  if (document) documents_.push_back(*document);
  vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  if (vectors_.size() * sizeof(float) >= bytes_max_) flush();
}

void ResultTensors::flush() {
  if (samples_.empty()) return;
  const auto rows = static_cast<std::int64_t>(samples_.size());
  const auto width = static_cast<std::int64_t>(vectors_.size()) / rows;
  std::vector<std::pair<std::string, at::Tensor>> tensors{
      {"samples", view_of(samples_, {rows}, at::kLong)},
      {"embeddings", view_of(vectors_, {rows, width}, at::kFloat)}};
  if (!documents_.empty()) tensors.emplace_back("documents", view_of(documents_, {rows}, at::kLong));
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));

  PosixDisk disk;
  disk.make_directories(folder_.string());
  const std::string name = fmt::format("{:05}-{:012}", rank_, *std::ranges::min_element(samples_));
  const std::string unfinished = (folder_ / (name + unfinished_end)).string();
  SafetensorsWriter writer(disk, unfinished, specs);
  for (const auto& [tensor_name, tensor] : tensors) writer.write(tensor_name, tensor);
  writer.finish(/*sync=*/true);
  disk.rename(unfinished, (folder_ / (name + file_end)).string());
  samples_.clear();
  documents_.clear();
  vectors_.clear();
}

void drop_result_tensors_from(const std::filesystem::path& folder, std::uint64_t sample) {
  if (!std::filesystem::is_directory(folder)) return;
  PosixDisk disk;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    static const std::regex ours(R"(\d{5,}-\d{12,}\.safetensors(\.tmp)?)");  // a plugin's files stay
    if (!std::regex_match(entry.path().filename().string(), ours)) continue;
    const std::string path = entry.path().string();
    if (path.ends_with(unfinished_end)) disk.remove_all(path);
    if (!path.ends_with(file_end)) continue;
    const at::Tensor samples = SafetensorsReader(disk, path).read("samples");
    D9D_REQUIRE(samples.dim() == 1 && samples.scalar_type() == at::kLong && samples.numel() > 0,
                "{} is no file of results: its `samples` are {} of {} dimensions; move it out of the folder",
                path, c10::toString(samples.scalar_type()), samples.dim());
    if (samples.max().item<std::int64_t>() >= static_cast<std::int64_t>(sample)) disk.remove_all(path);
  }
}

}  // namespace d9d
