#pragma once
// A choice: std::variant of described structs, told apart by the key that choices_of() names (`schedule:
// gpipe`). The name alone may stand for the map (`schedule: gpipe` under `pipelining`). If the last
// alternative is `Named` or derives from it, any other name is taken as a plugin's.

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/config/codec_struct.hpp"
#include "runtime/base/config/section.hpp"

namespace d9d::config {

template <class T>
concept ChoiceVariant = requires {
  choices_of(Tag<T>{});
};

// Returns the node with the name; null after reporting. `rest`: the map to decode, or an empty one.
const Node* read_tag(const Node& node, const Path& path, Problems& problems, std::string_view key,
                     const std::vector<std::string_view>& names, Node& empty, const Node*& rest);

template <ChoiceVariant V>
struct Codec<V> {
  // A function and not a static member, for the reason at Codec of a described struct. Not consteval: clang 14
  // takes no call of such a function that depends on a template argument.
  static constexpr auto choices() { return choices_of(Tag<V>{}); }
  static constexpr std::size_t size = std::variant_size_v<V>;
  using Last = std::variant_alternative_t<size - 1, V>;
  static constexpr bool open = std::is_base_of_v<Named, Last>;
  static_assert(choices().all.size() == size - (open ? 1 : 0),
                "choices_of() names each alternative but Named");

  static std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    constexpr auto all = choices().all;
    for (const Choice& choice : all) names.push_back(choice.name);
    return names;
  }
  static std::string type() {
    constexpr auto known = choices();
    return "section by `" + std::string(known.key) + "`";
  }

  static bool read(V& out, const Node& node, const Path& path, Problems& problems) {
    Node empty;
    const Node* rest = nullptr;
    constexpr auto known = choices();
    const Node* tag = read_tag(node, path, problems, known.key, names(), empty, rest);
    if (!tag) return false;
    for (std::size_t i = 0; i < known.all.size(); ++i) {
      if (known.all[i].name == tag->text) return read_as(out, i, *rest, path, problems);
    }
    if constexpr (open) return Codec<Last>::read(out.template emplace<Last>(), node, path, problems);
    return read_name(*tag, Path{&path, known.key}, problems, names()) >= 0;
  }

  static Json write(const V& value) {
    return std::visit(
        [&](const auto& alternative) {
          using A = std::remove_cvref_t<decltype(alternative)>;
          Json rest = Codec<A>::write(alternative);
          if constexpr (std::is_base_of_v<Named, A>) return rest;
          Json map = Json::object();
          constexpr auto known = choices();
          map[std::string(known.key)] = std::string(known.all[value.index()].name);
          map.update(rest);
          return map;
        },
        value);
  }

  static void tables(Reference& reference, const std::string& path, const V&) {
    tables_of(reference, path, std::make_index_sequence<size>{});
  }

 private:
  template <std::size_t I>
  static bool read_alternative(V& out, const Node& rest, const Path& path, Problems& problems) {
    // Start from the alternative's defaults, not from values of an earlier choice.
    auto& alternative = out.template emplace<I>();
    constexpr auto known = choices();
    return Codec<std::variant_alternative_t<I, V>>::read(alternative, rest, path, problems, known.key);
  }
  static bool read_as(V& out, std::size_t index, const Node& rest, const Path& path, Problems& problems) {
    using Reader = bool (*)(V&, const Node&, const Path&, Problems&);
    constexpr auto readers = []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<Reader, sizeof...(I)>{&read_alternative<I>...};
    }
    (std::make_index_sequence<choices().all.size()>{});
    return readers[index](out, rest, path, problems);
  }
  template <std::size_t... I>
  static void tables_of(Reference& reference, const std::string& path, std::index_sequence<I...>) {
    (add_alternative<I>(reference, path), ...);
  }
  template <std::size_t I>
  static void add_alternative(Reference& reference, const std::string& path) {
    using A = std::variant_alternative_t<I, V>;
    if constexpr (std::is_base_of_v<Named, A>) {
      Codec<A>::tables(reference, path, A{});
    } else {
      constexpr auto known = choices();
      constexpr Choice choice = known.all[I];
      const std::string title = path + " with " + std::string(known.key) + ": " + std::string(choice.name);
      reference.note(title, choice.meaning);
      Codec<A>::tables(reference, path, A{}, title);
    }
  }
};

}  // namespace d9d::config
