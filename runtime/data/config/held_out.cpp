#include "runtime/data/config/held_out.hpp"

namespace d9d {
namespace {

template <class Config>
bool holds_out(const Config& config) {
  if constexpr (requires { config.validation; })
    return config.validation && config.validation->side == DataSide::training;
  return false;
}

template <class Config>
Config other_side(Config config) {
  if constexpr (requires { config.validation; }) {
    config.validation->side = DataSide::validation;
    config.shuffle = false;
    config.epochs = {};
    config.order = {};
  }
  return config;
}

}  // namespace

std::optional<DataConfig> held_out(const DataConfig& data) {
  const auto* mixture = std::get_if<MixtureDataConfig>(&data);
  if (mixture == nullptr) {
    return std::visit(
        [](const auto& config) -> std::optional<DataConfig> {
          if (!holds_out(config)) return std::nullopt;
          return other_side(config);
        },
        data);
  }
  MixtureDataConfig out;
  for (const MixturePart& part : mixture->parts) {
    std::visit(
        [&](const auto& config) {
          if (holds_out(config)) out.parts.push_back({part.weight, other_side(config)});
        },
        part.source);
  }
  if (out.parts.empty()) return std::nullopt;
  return out;
}

}  // namespace d9d
