#include "runtime/base/error.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/restrict.hpp"

namespace d9d {
namespace {

// A choice of the groups of another mapper, possibly without some of their outputs.
class Restricted final : public StateMapper {
 public:
  Restricted(MapperPtr inner, std::set<StateGroup> kept)
      : StateMapper(std::move(kept)), inner_(std::move(inner)) {}

 private:
  TensorMap map(const StateGroup& group, const TensorMap& inputs) const override {
    TensorMap outputs = inner_->apply(inputs);
    std::erase_if(outputs, [&](const auto& entry) { return !group.outputs.contains(entry.first); });
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    return inner_->trace(output, wanted, inputs);
  }

  MapperPtr inner_;
};

class PrefixScope final : public StateMapper {
 public:
  PrefixScope(MapperPtr inner, const std::string& source, const std::string& target)
      : StateMapper(groups_from(*inner, source, target)),
        inner_(std::move(inner)),
        source_(source),
        target_(target) {}

 private:
  static Names prefixed(const Names& names, const std::string& prefix) {
    Names longer;
    for (const auto& name : names) longer.insert(prefix + name);
    return longer;
  }

  static std::set<StateGroup> groups_from(const StateMapper& inner, const std::string& source,
                                          const std::string& target) {
    std::set<StateGroup> groups;
    for (const auto& group : inner.groups())
      groups.insert({prefixed(group.inputs, source), prefixed(group.outputs, target)});
    return groups;
  }

  TensorMap inside(const TensorMap& inputs) const {
    TensorMap bare;
    for (const auto& [name, tensor] : inputs) bare[name.substr(source_.size())] = tensor;
    return bare;
  }

  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    TensorMap outputs;
    for (auto& [name, tensor] : inner_->apply(inside(inputs))) outputs[target_ + name] = tensor;
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    auto pieces = inner_->trace(output.substr(target_.size()), wanted, inside(inputs));
    if (pieces)
      for (auto& piece : *pieces) piece.input = source_ + piece.input;
    return pieces;
  }

  MapperPtr inner_;
  std::string source_;
  std::string target_;
};

}  // namespace

MapperPtr shard(MapperPtr mapper, int total, int current) {
  D9D_REQUIRE(total > 0 && current >= 0 && current < total,
              "shard: {} of {} is not a share; expected 0 <= current < total", current, total);
  std::set<StateGroup> kept;
  int index = 0;
  for (const auto& group : mapper->groups())
    if (index++ % total == current) kept.insert(group);
  return std::make_shared<Restricted>(std::move(mapper), std::move(kept));
}

MapperPtr prefix_scope(MapperPtr mapper, const std::string& source_prefix, const std::string& target_prefix) {
  return std::make_shared<PrefixScope>(std::move(mapper), source_prefix, target_prefix);
}

MapperPtr restrict_to_outputs(MapperPtr mapper, const Names& names) {
  std::set<StateGroup> kept;
  for (const auto& group : mapper->groups()) {
    StateGroup part{group.inputs, {}};
    for (const auto& name : group.outputs)
      if (names.contains(name)) part.outputs.insert(name);
    if (!part.outputs.empty()) kept.insert(std::move(part));
  }
  return std::make_shared<Restricted>(std::move(mapper), std::move(kept));
}

MapperPtr restrict_to_inputs(MapperPtr mapper, const Names& names) {
  std::set<StateGroup> kept;
  for (const auto& group : mapper->groups()) {
    Names missing;
    for (const auto& name : group.inputs)
      if (!names.contains(name)) missing.insert(name);
    if (missing.size() == group.inputs.size()) continue;
    D9D_REQUIRE(missing.empty(), "mapper: {} can only be made from all inputs of its group; {} is not here",
                to_text(group.outputs), to_text(missing));
    kept.insert(group);
  }
  return std::make_shared<Restricted>(std::move(mapper), std::move(kept));
}

}  // namespace d9d
