#pragma once
// What a config struct says about its keys, once, beside the struct:
//
//   struct Batching { std::int64_t global_batch_size = 0; std::int64_t microbatch_size = 0; };
//   BOOST_DESCRIBE_STRUCT(Batching, (), (global_batch_size, microbatch_size))
//   constexpr auto keys_of(config::Tag<Batching>) {
//     using config::Key, config::required, config::at_least;
//     // name, unit, meaning, need, range
//     return std::array{Key{"global_batch_size", "samples", "...", required, at_least(1)},
//                       Key{"microbatch_size", "samples", "...", required, at_least(1)}};
//   }
//
// The same members in the same order, checked when it is compiled. A default is what
// the member's initialiser says. A choice is a std::variant of such structs with
// `choices_of(Tag<Variant>)`: the key that names the alternative and the names in the
// order of the alternatives. Both functions are found by argument-dependent lookup.

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace d9d::config {

template <class T>
struct Tag {};

enum class Need { optional, required };
constexpr Need required = Need::required;
constexpr Need optional = Need::optional;

// The allowed numbers; for a list, those of each item.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false;
  bool open_max = false;
};
constexpr Range any_number() {
  return {};
}
constexpr Range at_least(double min) {
  return {.min = min};
}
constexpr Range above(double min) {
  return {.min = min, .open_min = true};
}
constexpr Range within(double min, double max) {
  return {.min = min, .max = max};
}
constexpr Range below_one() {
  return {.min = 0, .max = 1, .open_max = true};
}

struct Key {
  std::string_view name;
  std::string_view unit;  // empty where there is none
  std::string_view meaning;
  Need need = Need::optional;
  Range range = {};
  // Why the key is accepted without effect. A job that sets it gets a warning with this text.
  std::string_view no_effect = {};
};

// Joins lists of keys in this order; those of a base come before those of its struct.
template <std::size_t... N>
constexpr auto join(const std::array<Key, N>&... lists) {
  std::array<Key, (N + ...)> all{};
  auto next = all.begin();
  const auto add = [&](const auto& list) {
    for (const Key& key : list) *next++ = key;
  };
  (add(lists), ...);
  return all;
}

struct Choice {
  std::string_view name;
  std::string_view meaning;
};

template <std::size_t N>
struct Choices {
  std::string_view key;
  std::array<Choice, N> all;
};

}  // namespace d9d::config
