#pragma once
// Section `model_provider`: a built-in model or a plugin's. Its `model` takes Hugging Face's keys
// (model_section.hpp) or the original's (reference A.7).

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/nn/qwen3_config.hpp"
#include "runtime/task/model_section.hpp"

namespace d9d {

enum class ModelDtype { float32, bfloat16, float16 };
BOOST_DESCRIBE_ENUM(ModelDtype, float32, bfloat16, float16)

struct Qwen3Provider {
  std::optional<std::string> from;
  DenseModelSection model;
  ModelDtype dtype = ModelDtype::float32;
  bool enable_checkpointing = false;
};
BOOST_DESCRIBE_STRUCT(Qwen3Provider, (), (from, model, dtype, enable_checkpointing))

struct Qwen3MoeProvider {
  std::optional<std::string> from;
  MoeModelSection model;
  ModelDtype dtype = ModelDtype::float32;
  bool enable_checkpointing = false;
};
BOOST_DESCRIBE_STRUCT(Qwen3MoeProvider, (), (from, model, dtype, enable_checkpointing))

using ModelProviderConfig = std::variant<Qwen3MoeProvider, Qwen3Provider, config::Named>;

// The architecture that the section describes: `from`'s config.json, changed by the keys of `model`; nothing
// for a plugin's model. Input errors name the key; `model_provider` leads their path.
std::optional<Qwen3Config> resolve_model(const ModelProviderConfig& provider);

namespace provider_keys {
inline constexpr config::Key from{
    "from", "",
    "Hugging Face folder whose config.json gives the architecture; its weights are "
    "`trainer.model_stage_factory.source_checkpoint`'s business"};
inline constexpr config::Key model{"model", "", "the architecture; keys given here win over those of `from`"};
inline constexpr config::Key dtype{"dtype", "", "type of the parameters"};
inline constexpr config::Key enable_checkpointing{
    "enable_checkpointing", "",
    "keep only the input of each decoder layer and compute the layer again in backward: a third more work, "
    "far less memory"};
}  // namespace provider_keys

constexpr auto keys_of(config::Tag<Qwen3Provider>) {
  return std::array{provider_keys::from, provider_keys::model, provider_keys::dtype,
                    provider_keys::enable_checkpointing};
}
constexpr auto keys_of(config::Tag<Qwen3MoeProvider>) {
  return std::array{provider_keys::from, provider_keys::model, provider_keys::dtype,
                    provider_keys::enable_checkpointing};
}
constexpr auto choices_of(config::Tag<ModelProviderConfig>) {
  return config::Choices<2>{
      "name",
      {{{"qwen3_moe", "Qwen3 with a mixture of experts, for causal language modelling."},
        {"qwen3", "Qwen3 with dense layers, for causal language modelling."}}}};
}

}  // namespace d9d
