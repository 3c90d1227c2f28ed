#pragma once
// How a family decodes its section `model_provider`: included by families only.

#include <boost/describe/class.hpp>

#include <array>
#include <memory>

#include "runtime/base/config/decode.hpp"
#include "runtime/family/family.hpp"

namespace d9d {

template <class Section>
struct ProviderSection {
  std::optional<std::string> from;
  Section model;
  Dtype dtype = Dtype::float32;
  bool enable_checkpointing = false;
  std::int64_t offload_layers = 0;
  std::optional<PeftConfig> peft;
  std::optional<HeadOptions> head;
  HeadMap heads;
  HiddenStateSummary hidden_states = HiddenStateSummary::no;

  BOOST_DESCRIBE_CLASS(ProviderSection, (),
                       (from, model, dtype, enable_checkpointing, offload_layers, peft, head, heads,
                        hidden_states),
                       (), ())
};

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
inline constexpr config::Key offload_layers{
    "offload_layers", "",
    "of so many decoder layers of each pipeline stage, the first ones, what backward needs waits in pinned "
    "memory of the host and is copied beside the work of other layers: less memory of the device, the same "
    "numbers, as fast as the layers compute longer than the copies take; the other layers do as "
    "`enable_checkpointing` says. Of devices only",
    config::optional, config::at_least(0)};
inline constexpr config::Key peft{
    "peft", "", "which parameters train and what is added to the model for it; null: all train"};
inline constexpr config::Key head{"head", "", "what the last stage computes; null: causal_lm"};
inline constexpr config::Key heads{
    "heads", "",
    "several heads instead of one, by name: their outputs are NAME.OUTPUT, for "
    "a task of your own"};
inline constexpr config::Key hidden_states{
    "hidden_states", "",
    "a vector for each layer and sample beside the outputs, hidden_states_snapshot, for a task of your own: "
    "mean over the tokens of the shared input `hidden_states_agg_mask`"};
}  // namespace provider_keys

template <class Section>
constexpr auto keys_of(config::Tag<ProviderSection<Section>>) {
  return std::array{provider_keys::from,           provider_keys::model,
                    provider_keys::dtype,          provider_keys::enable_checkpointing,
                    provider_keys::offload_layers, provider_keys::peft,
                    provider_keys::head,           provider_keys::heads,
                    provider_keys::hidden_states};
}

// A family whose section `model` decodes into `Section`.
template <class Section>
class FamilyOf : public Family {
 public:
  bool read_section(FamilyProvider& out, const config::Node& node, const config::Path& path,
                    config::Problems& problems, std::string_view tag) const override {
    // On the heap: GCC 12 sees uninitialised members where so many optionals are destroyed on the stack.
    const auto section = std::make_unique<ProviderSection<Section>>();
    const bool good = config::Codec<ProviderSection<Section>>::read(*section, node, path, problems, tag);
    out = {this,
           section->from,
           config::Codec<Section>::write(section->model),
           section->dtype,
           section->enable_checkpointing,
           section->offload_layers,
           section->peft,
           section->head,
           section->heads,
           section->hidden_states};
    return good;
  }
  void add_tables(config::Reference& reference, const std::string& path,
                  const std::string& title) const override {
    config::Codec<ProviderSection<Section>>::tables(reference, path, {}, title);
  }
};

}  // namespace d9d
