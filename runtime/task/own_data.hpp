#pragma once
// Data of a plugin: add_source<Repeats>(registry, "repeats"), add_collation(registry, "masked", masked).

#include "runtime/data/read_microbatch.hpp"
#include "runtime/task/own_piece.hpp"

namespace d9d {

// `data: {source: NAME, ...}`: a SampleSource; its prepare() may take the SourceContext.
template <class Source>
void add_source(Registry& registry, const std::string& name) {
  registry.add_source(name, [](const config::Section& section, const SourceContext& context) {
    return own::make<Source>(section, context);
  });
}

// `collation: {name: NAME, ...}` as a function of its keys and a microbatch's samples; see collation.hpp.
template <class Keys>
void add_collation(Registry& registry, const std::string& name,
                   TensorMap (*collate)(const Keys&, std::span<const Sample>)) {
  struct Made final : Collation {
    Made(Keys given, TensorMap (*function)(const Keys&, std::span<const Sample>))
        : keys(given), call(function) {}
    TensorMap collate(std::span<const Sample> samples) const override { return call(keys, samples); }
    const Keys keys;
    TensorMap (*const call)(const Keys&, std::span<const Sample>);
  };
  registry.add_collation(name, [collate](const config::Section& section) {
    return std::make_shared<Made>(config::decode<Keys>(section), collate);
  });
}

}  // namespace d9d
