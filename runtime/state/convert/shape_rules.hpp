#pragma once
// Conversion rules that change shapes: the tensors that a rule reads and those that it makes.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"

namespace d9d {

namespace rule_keys {
inline constexpr config::Key from{"from", "", "pattern of the tensors that the rule takes", config::required};
inline constexpr config::Key to{"to", "", "pattern of the names it makes", config::required};
inline constexpr config::Key dim{"dim", "", "counted from the end when negative", config::required};
}  // namespace rule_keys

// Stacks tensors; they are numbered 0, 1, ... by the placeholder that `to` lacks.
struct StackRule {
  std::string from, to;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(StackRule, (), (from, to, dim))
constexpr auto keys_of(config::Tag<StackRule>) {
  return std::array{rule_keys::from, rule_keys::to, rule_keys::dim};
}

// Splits a tensor; the parts are numbered 0, 1, ... by the placeholder that only `to` has.
struct UnstackRule {
  std::string from, to;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(UnstackRule, (), (from, to, dim))
constexpr auto keys_of(config::Tag<UnstackRule>) {
  return std::array{rule_keys::from, rule_keys::to, rule_keys::dim};
}

struct ConcatenateRule {
  std::vector<std::string> from;
  std::string to;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(ConcatenateRule, (), (from, to, dim))
constexpr auto keys_of(config::Tag<ConcatenateRule>) {
  return std::array{config::Key{"from", "", "patterns of the pieces, in their order", config::required},
                    rule_keys::to, rule_keys::dim};
}

struct ChunkRule {
  std::string from;
  std::vector<std::string> to;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(ChunkRule, (), (from, to, dim))
constexpr auto keys_of(config::Tag<ChunkRule>) {
  return std::array{rule_keys::from,
                    config::Key{"to", "", "patterns of equal pieces, in their order", config::required},
                    rule_keys::dim};
}

struct TransposeRule {
  std::string from;
  std::array<std::int64_t, 2> dims{};
};
BOOST_DESCRIBE_STRUCT(TransposeRule, (), (from, dims))
constexpr auto keys_of(config::Tag<TransposeRule>) {
  return std::array{rule_keys::from, config::Key{"dims", "", "that change places", config::required}};
}

struct SqueezeRule {
  std::string from;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(SqueezeRule, (), (from, dim))
constexpr auto keys_of(config::Tag<SqueezeRule>) {
  return std::array{rule_keys::from, rule_keys::dim};
}

struct UnsqueezeRule {
  std::string from;
  std::int64_t dim = 0;
};
BOOST_DESCRIBE_STRUCT(UnsqueezeRule, (), (from, dim))
constexpr auto keys_of(config::Tag<UnsqueezeRule>) {
  return std::array{rule_keys::from, rule_keys::dim};
}

}  // namespace d9d
