#include "runtime/state/convert/rule_mapper.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/convert/name_pattern.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/state/mapper/stack.hpp"

namespace d9d {
namespace {

using Captures = NamePattern::Captures;
using Leaves = std::vector<MapperPtr>;

// No tensor of a folder can be called so: a dropped one gives its name free for another.
std::string hidden_name(std::size_t rule, const std::string& name) {
  return fmt::format("dropped by rule {}\n{}", rule, name);
}

bool is_hidden(const std::string& name) {
  return name.find('\n') != std::string::npos;
}

std::set<std::string> without(std::set<std::string> all, const std::set<std::string>& some) {
  for (const auto& name : some) all.erase(name);
  return all;
}

// The only placeholder that `one` has and `other` has not.
std::string counted_placeholder(const NamePattern& one, const NamePattern& other) {
  const auto extra = without(one.placeholders(), other.placeholders());
  D9D_REQUIRE(extra.size() == 1,
              "{} has {} placeholders that {} has not; exactly one counts the tensors, such as {{expert}}",
              one.text(), extra.size(), other.text());
  return *extra.begin();
}

class RuleGraph {
 public:
  explicit RuleGraph(const TensorMap& stored) : shapes_(stored) { stages_.push_back(identities_of(stored)); }

  void apply(std::size_t number, const ConversionRule& rule) {
    number_ = number;
    const Leaves leaves = std::visit([&](const auto& one) { return leaves_of(one); }, rule);
    if (leaves.empty()) return;  // a cast
    const MapperPtr stage = parallel(leaves);
    TensorMap made;
    for (const auto& group : stage->groups()) {
      TensorMap inputs;
      for (const auto& name : group.inputs) inputs[name] = shapes_.at(name);
      for (auto& [name, tensor] : stage->apply(inputs)) made[name] = tensor;
    }
    for (const auto& name : inputs_of(*stage)) shapes_.erase(name);
    for (auto& [name, tensor] : made) {
      const bool is_new = shapes_.emplace(name, tensor).second;
      D9D_REQUIRE(is_new, "it makes \"{}\", and there is such a tensor already", name);
    }
    stages_.push_back(stage);
  }

  RuleMapper finish() const {
    Names kept;
    for (const auto& [name, tensor] : shapes_)
      if (!is_hidden(name)) kept.insert(name);
    RuleMapper result{restrict_to_outputs(sequential(stages_), kept), {}};
    for (const auto& [pattern, dtype] : casts_) {
      std::size_t matched = 0;
      for (const auto& name : kept) {
        if (!pattern.match(name)) continue;
        result.dtypes[name] = dtype;
        ++matched;
      }
      D9D_REQUIRE(matched > 0, "rule cast: {} matches no tensor of the new folder; it has {}", pattern.text(),
                  to_text(kept));
    }
    return result;
  }

 private:
  using Matches = std::map<std::string, Captures>;

  Matches matches_of(const NamePattern& pattern) const {
    Matches matches;
    Names names;
    for (const auto& [name, tensor] : shapes_) {
      if (is_hidden(name)) continue;
      names.insert(name);
      if (auto captures = pattern.match(name)) matches.emplace(name, std::move(*captures));
    }
    D9D_REQUIRE(!matches.empty(), "{} matches no tensor; there are {}", pattern.text(), to_text(names));
    return matches;
  }

  // A leaf for each tensor that matches.
  template <class Make>
  Leaves each(const std::string& pattern, Make make) const {
    Leaves leaves;
    for (const auto& [name, captures] : matches_of(NamePattern(pattern))) leaves.push_back(make(name));
    return leaves;
  }

  Leaves leaves_of(const RenameRule& rule) const {
    const NamePattern from(rule.from), to(rule.to);
    Leaves leaves;
    for (const auto& [name, captures] : matches_of(from)) leaves.push_back(rename(name, to.fill(captures)));
    return leaves;
  }

  Leaves leaves_of(const StackRule& rule) const {
    const NamePattern from(rule.from), to(rule.to);
    const std::string counter = counted_placeholder(from, to);
    std::map<std::string, std::map<std::int64_t, std::string>> sources;  // by target and number
    for (const auto& [name, captures] : matches_of(from)) {
      const auto number = config::integer_from(captures.at(counter));
      D9D_REQUIRE(number && *number >= 0, "\"{}\": {{{}}} is {}, expected a number from 0", name, counter,
                  captures.at(counter));
      const auto [at, is_new] = sources[to.fill(captures)].emplace(*number, name);
      D9D_REQUIRE(is_new, "\"{}\" and \"{}\" have the same number", at->second, name);
    }
    Leaves leaves;
    for (const auto& [target, by_number] : sources) {
      std::vector<std::string> names;
      for (const auto& [number, name] : by_number) {
        D9D_REQUIRE(number == static_cast<std::int64_t>(names.size()),
                    "\"{}\" would be made of numbers without {}; the next one is \"{}\"", target,
                    names.size(), name);
        names.push_back(name);
      }
      leaves.push_back(stack(names, target, rule.dim));
    }
    return leaves;
  }

  Leaves leaves_of(const UnstackRule& rule) const {
    const NamePattern from(rule.from), to(rule.to);
    const std::string counter = counted_placeholder(to, from);
    Leaves leaves;
    for (auto& [name, captures] : matches_of(from)) {
      const at::Tensor& tensor = shapes_.at(name);
      D9D_REQUIRE(rule.dim >= -tensor.dim() && rule.dim < tensor.dim(), "\"{}\" has shape {} and no dim {}",
                  name, to_text(tensor.sizes().vec()), rule.dim);
      std::vector<std::string> targets;
      Captures filled = captures;
      for (std::int64_t i = 0; i < tensor.size(rule.dim); ++i) {
        filled[counter] = std::to_string(i);
        targets.push_back(to.fill(filled));
      }
      leaves.push_back(unstack(name, targets, rule.dim));
    }
    return leaves;
  }

  Leaves leaves_of(const ConcatenateRule& rule) const {
    D9D_REQUIRE(!rule.from.empty(), "from is empty; give the patterns of the pieces");
    const NamePattern first(rule.from.front()), to(rule.to);
    Leaves leaves;
    for (const auto& [name, captures] : matches_of(first)) {
      std::vector<std::string> sources;
      for (const auto& pattern : rule.from) {
        sources.push_back(NamePattern(pattern).fill(captures));
        D9D_REQUIRE(shapes_.contains(sources.back()), "\"{}\" is there without \"{}\"", name, sources.back());
      }
      leaves.push_back(concatenate(sources, to.fill(captures), rule.dim));
    }
    return leaves;
  }

  Leaves leaves_of(const ChunkRule& rule) const {
    D9D_REQUIRE(!rule.to.empty(), "to is empty; give the patterns of the pieces");
    Leaves leaves;
    for (const auto& [name, captures] : matches_of(NamePattern(rule.from))) {
      std::vector<std::string> targets;
      for (const auto& pattern : rule.to) targets.push_back(NamePattern(pattern).fill(captures));
      leaves.push_back(chunk(name, targets, rule.dim));
    }
    return leaves;
  }

  Leaves leaves_of(const TransposeRule& rule) const {
    return each(rule.from, [&](const auto& name) { return transpose(name, rule.dims[0], rule.dims[1]); });
  }

  Leaves leaves_of(const SqueezeRule& rule) const {
    return each(rule.from, [&](const auto& name) { return squeeze(name, rule.dim); });
  }

  Leaves leaves_of(const UnsqueezeRule& rule) const {
    return each(rule.from, [&](const auto& name) { return unsqueeze(name, rule.dim); });
  }

  Leaves leaves_of(const DropRule& rule) const {
    return each(rule.from, [&](const auto& name) { return rename(name, hidden_name(number_, name)); });
  }

  Leaves leaves_of(const CastRule& rule) {
    casts_.emplace_back(NamePattern(rule.from), rule.dtype);
    return {};
  }

  std::size_t number_ = 0;
  TensorMap shapes_;  // of the tensors after the rules so far
  Leaves stages_;
  std::vector<std::pair<NamePattern, Dtype>> casts_;
};

TensorMap on_meta(const TensorMap& stored) {
  TensorMap shapes;
  for (const auto& [name, tensor] : stored)
    shapes[name] = at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
  return shapes;
}

}  // namespace

RuleMapper mapper_by_rules(const ConversionRules& rules, const TensorMap& stored) {
  RuleGraph graph(on_meta(stored));
  constexpr auto verbs = choices_of(config::Tag<ConversionRule>{});
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    try {
      graph.apply(i + 1, rules.rules[i]);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("rule {} ({}): {}", i + 1, verbs.all[rules.rules[i].index()].name,
                                            error.what()));
    }
  }
  return graph.finish();
}

}  // namespace d9d
