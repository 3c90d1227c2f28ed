#pragma once
// The section `model_provider` of a built-in family, as the job knows it: the same type for all families.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/graph/kept_kind.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/family/head_keys.hpp"
#include "runtime/peft/peft_config.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d::kernels {
BOOST_DESCRIBE_ENUM(KeptKind, attention, linear, experts, exchange)
}  // namespace d9d::kernels

namespace d9d {

class Family;

struct ModelSection {
  const Family* family = nullptr;  // null only in a job that was not read from a file
  config::Json keys;               // every key of the family's model, null where it was not given
};
// Of a job that gives none of the keys.
ModelSection blank_section(const Family& family);

struct FamilyProvider {
  std::optional<std::string> from;
  ModelSection model;
  Dtype dtype = Dtype::float32;
  bool enable_checkpointing = false;
  std::vector<kernels::KeptKind> checkpoint_keeps;
  std::int64_t offload_layers = 0;
  std::optional<PeftConfig> peft;
  std::optional<HeadOptions> head;
  HeadMap heads;
  HiddenStateSummary hidden_states = HiddenStateSummary::no;
};
BOOST_DESCRIBE_STRUCT(FamilyProvider, (),
                      (from, model, dtype, enable_checkpointing, checkpoint_keeps, offload_layers, peft, head,
                       heads, hidden_states))
constexpr auto keys_of(config::Tag<FamilyProvider>) {
  return std::array{
      config::Key{"from", "",
                  "Hugging Face folder whose config.json gives the architecture; its weights are "
                  "`trainer.model_stage_factory.source_checkpoint`'s business"},
      config::Key{"model", "", "the architecture; keys given here win over those of `from`"},
      config::Key{"dtype", "", "type of the parameters"},
      config::Key{"enable_checkpointing", "",
                  "keep only the input of each decoder layer and compute the layer again in backward: a "
                  "third more work, far less memory"},
      config::Key{
          "checkpoint_keeps", "",
          "with `enable_checkpointing`: results that are kept, too, instead of being computed again, "
          "by the ops that make them: attention, linear (products with weights), experts (products of "
          "experts), exchange (what other ranks send). With all four hardly more work than without "
          "checkpointing. The same numbers"},
      config::Key{"offload_layers", "",
                  "of so many decoder layers of each pipeline stage, the first ones, what backward needs "
                  "waits in pinned memory of the host and is copied beside the work of other layers: less "
                  "memory of the device, the same numbers, as fast as the layers compute longer than the "
                  "copies take; the other layers do as `enable_checkpointing` says. Of devices only",
                  config::optional, config::at_least(0)},
      config::Key{"peft", "",
                  "which parameters train and what is added to the model for it; null: all train"},
      config::Key{"head", "", "what the last stage computes; null: causal_lm"},
      config::Key{
          "heads", "",
          "several heads instead of one, by name: their outputs are NAME.OUTPUT, for a task of your own"},
      config::Key{"hidden_states", "",
                  "a vector for each layer and sample beside the outputs, hidden_states_snapshot, for a task "
                  "of your own: mean over the tokens of the shared input `hidden_states_agg_mask`"}};
}

}  // namespace d9d

namespace d9d::config {

// Reads the keys of the family that `out` names.
template <>
struct Codec<ModelSection> {
  static std::string type() { return "section"; }
  static bool read(ModelSection& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const ModelSection& section);
  // One table of the keys of all families.
  static void tables(Reference& reference, const std::string& path, const ModelSection&);
};

}  // namespace d9d::config
