#include <ATen/ops/empty.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/compose.hpp"

namespace d9d {
namespace {

Names difference(const Names& all, const Names& without) {
  Names rest;
  std::set_difference(all.begin(), all.end(), without.begin(), without.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

MapperPtr with_identities(const MapperPtr& mapper, const Names& names) {
  return names.empty() ? mapper : parallel({mapper, identities(names)});
}

// Afterwards the outputs of each stage are exactly the inputs of the next.
std::vector<MapperPtr> bridged(std::vector<MapperPtr> stages) {
  for (std::size_t i = stages.size() - 1; i-- > 0;)
    stages[i] = with_identities(stages[i], difference(inputs_of(*stages[i + 1]), outputs_of(*stages[i])));
  for (std::size_t i = 1; i < stages.size(); ++i)
    stages[i] = with_identities(stages[i], difference(outputs_of(*stages[i - 1]), inputs_of(*stages[i])));
  return stages;
}

// The groups of all stages that hang together through names, merged.
class Merged {
 public:
  struct Net {
    StateGroup group;
    std::vector<std::vector<const StateGroup*>> stages;
  };

  explicit Merged(const std::vector<MapperPtr>& stages) {
    std::map<std::string, std::size_t> maker;  // node that makes a name for the next stage
    std::vector<std::pair<std::size_t, const StateGroup*>> nodes;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      std::map<std::string, std::size_t> made;
      for (const auto& group : stages[stage]->groups()) {
        const auto node = nodes.size();
        nodes.emplace_back(stage, &group);
        root_.push_back(node);
        if (stage > 0)
          for (const auto& name : group.inputs) root_[root_of(maker.at(name))] = root_of(node);
        for (const auto& name : group.outputs) made[name] = node;
      }
      maker = std::move(made);
    }
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const auto& [stage, group] = nodes[node];
      auto& net = nets_[root_of(node)];
      net.stages.resize(stages.size());
      net.stages[stage].push_back(group);
      if (stage == 0) net.group.inputs.insert(group->inputs.begin(), group->inputs.end());
      if (stage + 1 == stages.size()) net.group.outputs.insert(group->outputs.begin(), group->outputs.end());
    }
  }

  std::set<StateGroup> groups() const {
    std::set<StateGroup> groups;
    for (const auto& [root, net] : nets_) groups.insert(net.group);
    return groups;
  }

  const std::map<std::size_t, Net>& nets() const { return nets_; }

 private:
  std::size_t root_of(std::size_t node) {
    while (root_[node] != node) node = root_[node] = root_[root_[node]];
    return node;
  }

  std::vector<std::size_t> root_;
  std::map<std::size_t, Net> nets_;
};

TensorMap part_of(const TensorMap& tensors, const Names& names) {
  TensorMap part;
  for (const auto& name : names) part[name] = tensors.at(name);
  return part;
}

TensorMap shapes_only(const TensorMap& tensors) {
  TensorMap shapes;
  for (const auto& [name, tensor] : tensors)
    shapes[name] = at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
  return shapes;
}

// `outer` shows a box of a tensor that `inner` fills a part of: what `outer` shows of the input of `inner`.
Piece joined(const Piece& outer, const Piece& inner) {
  Piece piece{inner.input, inner.from, outer.dims, outer.to};
  for (std::size_t d = 0; d < outer.dims.size(); ++d) {
    if (outer.dims[d] < 0) continue;
    const auto middle = static_cast<std::size_t>(outer.dims[d]);
    piece.dims[d] = inner.dims[middle];
    const auto shift = outer.to.begin[d] - outer.from.begin[middle];
    piece.to.begin[d] = inner.to.begin[middle] + shift;
    piece.to.end[d] = inner.to.end[middle] + shift;
  }
  return piece;
}

class Sequential final : public StateMapper {
 public:
  Sequential(std::vector<MapperPtr> stages, const Merged& merged)
      : StateMapper(merged.groups()), stages_(std::move(stages)) {
    for (const auto& [root, net] : merged.nets())
      if (!net.group.inputs.empty()) nets_.emplace(*net.group.inputs.begin(), net);
  }

 private:
  TensorMap map(const StateGroup& group, const TensorMap& inputs) const override {
    TensorMap tensors = inputs;
    const auto& net = nets_.at(*group.inputs.begin());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      tensors = run_stage(net, stage, std::move(tensors));
    return tensors;
  }

  TensorMap run_stage(const Merged::Net& net, std::size_t stage, TensorMap tensors) const {
    TensorMap outputs;
    for (const auto* group : net.stages[stage]) {
      TensorMap part = part_of(tensors, group->inputs);
      for (const auto& name : group->inputs) tensors.erase(name);  // Frees inputs as they are used up.
      outputs.merge(stages_[stage]->apply(part));
    }
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& net = nets_.at(inputs.begin()->first);
    std::vector<TensorMap> before{shapes_only(inputs)};
    for (std::size_t stage = 0; stage + 1 < stages_.size(); ++stage)
      before.push_back(run_stage(net, stage, before.back()));
    return trace_back(net, before, stages_.size() - 1, output, wanted);
  }

  std::optional<Pieces> trace_back(const Merged::Net& net, const std::vector<TensorMap>& before,
                                   std::size_t stage, const std::string& output, const Slice& wanted) const {
    const auto& groups = net.stages[stage];
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto* g) { return g->outputs.contains(output); });
    D9D_CHECK(group != groups.end(), "sequential: no group of stage {} makes \"{}\"", stage, output);
    const auto outer = stages_[stage]->trace(output, wanted, part_of(before[stage], (*group)->inputs));
    if (!outer || stage == 0) return outer;
    Pieces pieces;
    for (const auto& piece : *outer) {
      const auto inner = trace_back(net, before, stage - 1, piece.input, piece.from);
      if (!inner) return {};
      for (const auto& part : *inner) pieces.push_back(joined(piece, part));
    }
    return pieces;
  }

  std::vector<MapperPtr> stages_;
  std::map<std::string, Merged::Net> nets_;  // by first input
};

}  // namespace

MapperPtr sequential(std::vector<MapperPtr> mappers) {
  D9D_REQUIRE(!mappers.empty(), "sequential: the list of mappers is empty");
  auto stages = bridged(std::move(mappers));
  const Merged merged(stages);
  return std::make_shared<Sequential>(std::move(stages), merged);
}

}  // namespace d9d
