#pragma once
// Which layers of a model attend in a sliding window, and the keys of config.json that say so. No torch.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace d9d {

class JsonReader;

struct LayerWindows {
  std::int64_t width = 0;      // AttentionRule::window of the layers that slide
  std::vector<bool> of_layer;  // a layer that is not listed has full attention

  bool slides(std::int64_t layer) const;
  // 0 where the layer has full attention.
  std::int64_t of(std::int64_t layer) const { return slides(layer) ? width : 0; }
  bool any() const;

  bool operator==(const LayerWindows&) const = default;
};

// `sliding_window` alone says so, for all layers: null is full attention, an absent key `absent`.
LayerWindows read_one_window(const JsonReader& in, std::int64_t layers, std::int64_t absent);
void write_one_window(const LayerWindows& windows, nlohmann::json& out);

// `use_sliding_window` says whether, `layer_types` which layers do; where it is not given, `slides(layer)`.
LayerWindows read_layer_windows(const JsonReader& in, std::int64_t layers,
                                const std::function<bool(std::int64_t)>& slides);
// The same without `use_sliding_window`; `absent`: the width where `sliding_window` is not given, or null because no
// layer slides. The width stays where none does.
LayerWindows read_windows_by_type(const JsonReader& in, std::int64_t layers, std::int64_t absent,
                                  const std::function<bool(std::int64_t)>& slides);
// `sliding_window` and `layer_types`. transformers 5.23 makes a mask of the width in any case, so it is never null.
void write_windows_by_type(const LayerWindows& windows, std::int64_t layers, nlohmann::json& out);
void write_layer_types(const LayerWindows& windows, std::int64_t layers, nlohmann::json& out);
// With `layer_types`, and with `max_window_layers` for readers that do not know them.
void write_layer_windows(const LayerWindows& windows, std::int64_t layers, nlohmann::json& out);

}  // namespace d9d
