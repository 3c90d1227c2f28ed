#include "runtime/family/layer_windows.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr const char* full_layer = "full_attention";
constexpr const char* sliding_layer = "sliding_attention";
constexpr std::int64_t default_width = 4096;

LayerWindows without_empty(LayerWindows windows) {
  return windows.any() ? windows : LayerWindows{};
}

std::vector<bool> layers_named(const JsonReader& in, const json& types, std::int64_t layers) {
  D9D_REQUIRE(types.is_array() && static_cast<std::int64_t>(types.size()) == layers,
              "{}: layer_types has {} entries, but there are {} layers (num_hidden_layers)", in.where(),
              types.size(), layers);
  std::vector<bool> named;
  for (const json& type : types) {
    D9D_REQUIRE(type == full_layer || type == sliding_layer,
                "{}: layer_types names {}, supported are {} and {}", in.where(), json_text(type), full_layer,
                sliding_layer);
    named.push_back(type == sliding_layer);
  }
  return named;
}

void require_width(const JsonReader& in, std::int64_t width) {
  D9D_REQUIRE(width > 0, "{}: sliding_window is {}, expected an integer above 0, or null for full attention",
              in.where(), width);
}

}  // namespace

bool LayerWindows::slides(std::int64_t layer) const {
  const auto index = static_cast<std::size_t>(layer);
  return index < of_layer.size() && of_layer[index];
}

bool LayerWindows::any() const {
  return std::find(of_layer.begin(), of_layer.end(), true) != of_layer.end();
}

LayerWindows read_one_window(const JsonReader& in, std::int64_t layers, std::int64_t absent) {
  const auto width = in.integer_or_none("sliding_window", absent > 0 ? std::optional(absent) : std::nullopt);
  if (!width) return {};
  require_width(in, *width);
  return {*width, std::vector<bool>(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)), true)};
}

void write_one_window(const LayerWindows& windows, json& out) {
  out["sliding_window"] = windows.any() ? json(windows.width) : json(nullptr);
}

LayerWindows read_layer_windows(const JsonReader& in, std::int64_t layers,
                                const std::function<bool(std::int64_t)>& slides) {
  const auto width = in.flag("use_sliding_window", false)
                         ? in.integer_or_none("sliding_window", default_width)
                         : std::nullopt;
  if (width) require_width(in, *width);
  LayerWindows windows{width.value_or(0), {}};
  if (const json* const types = in.find("layer_types")) {
    windows.of_layer = layers_named(in, *types, layers);
    D9D_REQUIRE(width || !windows.any(),
                "{}: layer_types names {}, but there is no window: set use_sliding_window to true and "
                "sliding_window to its width, or name {} alone",
                in.where(), sliding_layer, full_layer);
  } else if (width) {
    for (std::int64_t layer = 0; layer < layers; ++layer) windows.of_layer.push_back(slides(layer));
  }
  return without_empty(std::move(windows));
}

LayerWindows read_windows_by_type(const JsonReader& in, std::int64_t layers, std::int64_t absent,
                                  const std::function<bool(std::int64_t)>& slides) {
  const auto width = in.integer_or_none("sliding_window", absent);
  if (width) require_width(in, *width);
  LayerWindows windows{width.value_or(absent), {}};
  if (const json* const types = in.find("layer_types")) {
    windows.of_layer = layers_named(in, *types, layers);
  } else {
    for (std::int64_t layer = 0; layer < layers; ++layer) windows.of_layer.push_back(slides(layer));
  }
  D9D_REQUIRE(
      width || !windows.any(),
      "{}: sliding_window is null, but layers are of type {}; set it to their width, or layer_types to "
      "{} alone",
      in.where(), sliding_layer, full_layer);
  if (!windows.any()) windows.of_layer.clear();
  return windows;
}

void write_windows_by_type(const LayerWindows& windows, std::int64_t layers, json& out) {
  out["sliding_window"] = windows.width;
  write_layer_types(windows, layers, out);
}

void write_layer_types(const LayerWindows& windows, std::int64_t layers, json& out) {
  json types = json::array();
  for (std::int64_t layer = 0; layer < layers; ++layer)
    types.push_back(windows.slides(layer) ? sliding_layer : full_layer);
  out["layer_types"] = types;
}

void write_layer_windows(const LayerWindows& windows, std::int64_t layers, json& out) {
  out["use_sliding_window"] = windows.any();
  write_one_window(windows, out);
  std::int64_t full_layers = layers;
  while (full_layers > 0 && windows.slides(full_layers - 1)) --full_layers;
  out["max_window_layers"] = full_layers;
  write_layer_types(windows, layers, out);
}

}  // namespace d9d
