#pragma once
// A file of rules for `d9d-node convert --mapper FILE` (YAML or JSON):
//   dtype: bfloat16
//   rules:
//     - {do: rename, from: "transformer.{rest*}", to: "model.{rest}"}
//     - {do: stack, from: "model.layers.{layer}.experts.{expert}.up", to: "model.layers.{layer}.up", dim: 0}
// Rules apply one after the other; what no rule names stays as it is. Patterns: name_pattern.hpp.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/state/convert/shape_rules.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

struct RenameRule {
  std::string from, to;
};
BOOST_DESCRIBE_STRUCT(RenameRule, (), (from, to))
constexpr auto keys_of(config::Tag<RenameRule>) {
  return std::array{rule_keys::from, rule_keys::to};
}

struct DropRule {
  std::string from;
};
BOOST_DESCRIBE_STRUCT(DropRule, (), (from))
constexpr auto keys_of(config::Tag<DropRule>) {
  return std::array{rule_keys::from};
}

struct CastRule {
  std::string from;
  Dtype dtype = Dtype::float32;
};
BOOST_DESCRIBE_STRUCT(CastRule, (), (from, dtype))
constexpr auto keys_of(config::Tag<CastRule>) {
  return std::array{config::Key{"from", "", "pattern of the names that the new folder has", config::required},
                    config::Key{"dtype", "", "of these tensors", config::required}};
}

using ConversionRule = std::variant<RenameRule, StackRule, UnstackRule, ConcatenateRule, ChunkRule,
                                    TransposeRule, SqueezeRule, UnsqueezeRule, DropRule, CastRule>;
constexpr auto choices_of(config::Tag<ConversionRule>) {
  return config::Choices<10>{"do",
                             {{{"rename", "Other names, same tensors."},
                               {"stack", "Several tensors become one, along a new dim."},
                               {"unstack", "One tensor becomes several, one for each index of a dim."},
                               {"concatenate", "Several tensors become one, along a dim."},
                               {"chunk", "One tensor becomes several of equal size, along a dim."},
                               {"transpose", "Two dims change places."},
                               {"squeeze", "A dim of size one goes."},
                               {"unsqueeze", "A dim of size one comes."},
                               {"drop", "The new folder does not have them."},
                               {"cast", "Another dtype than the others; after all other rules."}}}};
}

struct ConversionRules {
  std::vector<ConversionRule> rules;
  std::optional<Dtype> dtype;
};
BOOST_DESCRIBE_STRUCT(ConversionRules, (), (rules, dtype))
constexpr auto keys_of(config::Tag<ConversionRules>) {
  return std::array{config::Key{"rules", "", "applied one after the other"},
                    config::Key{"dtype", "", "of all floating-point tensors; null: they keep theirs"}};
}

// Reads a file of rules. Input errors with file, line and key.
ConversionRules read_conversion_rules(const std::string& file);

}  // namespace d9d
