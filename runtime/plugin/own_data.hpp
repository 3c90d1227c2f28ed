#pragma once
// Data of a plugin: add_source<Repeats>(registry, "repeats"), add_stream<Packs>(registry, "packs"),
// add_rollouts<Game>(registry, "game"), add_collation(registry, "masked", masked).

#include "runtime/data/padding.hpp"
#include "runtime/data/read_microbatch.hpp"
#include "runtime/data/source/stream_source.hpp"
#include "runtime/data/token_pooling.hpp"
#include "runtime/plugin/own_piece.hpp"
#include "runtime/tensor/tensor_tree.hpp"

namespace d9d {

// `data: {source: NAME, ...}`: a SampleSource; its prepare() may take the SourceContext.
template <class Source>
void add_source(Registry& registry, const std::string& name) {
  registry.add_source(name, [](const config::Section& section, const SourceContext& context) {
    return own::make<Source>(section, context);
  });
}

// The same of a SampleStream: an object for each rank, and one more that says its length.
template <class Stream>
void add_stream(Registry& registry, const std::string& name) {
  registry.add_source(name, [](const config::Section& section, const SourceContext& context) {
    return std::make_shared<StreamSource>([section, context] { return own::make<Stream>(section, context); });
  });
}

// The same of a RolloutStream, whose texts the model writes between steps.
template <class Stream>
void add_rollouts(Registry& registry, const std::string& name) {
  registry.add_source(name, [](const config::Section& section, const SourceContext& context) {
    return std::make_shared<RolloutSource>(
        [section, context] { return own::make<Stream>(section, context); });
  });
}

// `collation: {name: NAME, ...}` as a function of its keys and a microbatch's samples; see collation.hpp. What it gives
// is a TensorMap or a tree of tensors, which a task reads by tree_of<Batch>(context.batch) (tensor_tree.hpp).
template <class Keys, class Batch>
void add_collation(Registry& registry, const std::string& name,
                   Batch (*collate)(const Keys&, std::span<const Sample>)) {
  struct Made final : Collation {
    Made(Keys given, Batch (*function)(const Keys&, std::span<const Sample>)) : keys(given), call(function) {}
    TensorMap collate(std::span<const Sample> samples) const override {
      if constexpr (std::is_same_v<Batch, TensorMap>) {
        return call(keys, samples);
      } else {
        return to_tensor_map(call(keys, samples));
      }
    }
    const Keys keys;
    Batch (*const call)(const Keys&, std::span<const Sample>);
  };
  registry.add_collation(name, [collate](const config::Section& section) {
    return std::make_shared<Made>(config::decode<Keys>(section), collate);
  });
}

}  // namespace d9d
