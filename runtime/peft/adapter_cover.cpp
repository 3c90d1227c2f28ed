#include "runtime/peft/adapter_cover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/count.hpp"
#include "runtime/base/log.hpp"
#include "runtime/peft/adapter_config.hpp"
#include "runtime/peft/adapter_options.hpp"
#include "runtime/peft/module_pattern.hpp"

namespace d9d {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view weight = ".weight";
constexpr const char* all_linear = "all-linear";

// As peft: a list names the ends of paths, a text is a regular expression of whole ones.
class Choice {
 public:
  explicit Choice(const Json& value) {
    if (value.is_string()) pattern_.emplace(value.get<std::string>());
    if (!value.is_array()) return;
    for (const Json& name : value)
      if (name.is_string()) ends_.push_back(name.get<std::string>());
  }
  bool has(const std::string& path) const {
    if (pattern_) return pattern_->matches(path);
    return std::any_of(ends_.begin(), ends_.end(),
                       [&](const std::string& end) { return ends_with_names(path, end); });
  }

 private:
  std::optional<ModulePattern> pattern_;
  std::vector<std::string> ends_;
};

// The number of the layer in a path: the first one that stands between two names; nothing: there is none.
std::optional<std::int64_t> layer_of(const std::string& path) {
  for (std::size_t begin = path.find('.'); begin != std::string::npos; begin = path.find('.', begin + 1)) {
    const std::size_t end = path.find('.', begin + 1);
    const std::string name = path.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    if (end == std::string::npos || name.empty() || name.size() > 9) continue;
    if (name.find_first_not_of("0123456789") == std::string::npos) return std::stoll(name);
  }
  return std::nullopt;
}

bool is_of_layers(const Json& layers, const std::string& path) {
  if (layers.is_null() || (layers.is_array() && layers.empty())) return true;
  const auto layer = layer_of(path);
  if (!layer) return false;
  return layers.is_array() ? std::find(layers.begin(), layers.end(), Json(*layer)) != layers.end()
                           : layers == Json(*layer);
}

}  // namespace

std::string modules_without_factors(const Json& config, const Names& base, const Names& changed,
                                    const std::string& where) {
  const Json targets = config.value("target_modules", Json());
  if (targets == Json(all_linear) || says_something(config, "layers_pattern")) return "";
  const Choice covered(targets), left_out(config.value("exclude_modules", Json())),
      whole(config.value("modules_to_save", Json()));
  std::vector<std::string> missing;
  for (const std::string& name : base) {
    if (!name.ends_with(weight) || changed.contains(name)) continue;
    const std::string path = name.substr(0, name.size() - weight.size());
    if (covered.has(path) && !left_out.has(path) && !whole.has(path) &&
        is_of_layers(config.value("layers_to_transform", Json()), path))
      missing.push_back(path);
  }
  if (missing.empty()) return "";
  constexpr std::size_t named_most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), named_most); ++i)
    text += (i == 0 ? "" : ", ") + missing[i];
  if (missing.size() > named_most) text += ", ...";
  return fmt::format("{} has no factors of {} that its target_modules name, which stay as they are: {}",
                     where, counted(missing.size(), "module"), text);
}

void say_modules_without_factors(const Disk& disk, const std::string& directory, const ModelFiles& base,
                                 const MergedFolder& merged) {
  const std::string text = modules_without_factors(read_adapter_config(disk, directory), base.names(),
                                                   merged.changed(), directory);
  if (!text.empty()) log::warn("{}", text);
}

}  // namespace d9d
