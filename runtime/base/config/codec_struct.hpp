#pragma once
// Structs described with BOOST_DESCRIBE_STRUCT. Their keys are those of keys_of() (see keys.hpp) if there is one.
// Otherwise each described member is an optional key of the same name that accepts every value of its type; that is
// enough for most sections of plugins (count_key.hpp).

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/config/codec_maps.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d::config {

template <class T>
concept HasKeys = requires {
  keys_of(Tag<T>{});
};
template <class T>
concept DescribedStruct = std::is_class_v<T> &&
    (HasKeys<T> || boost::describe::has_describe_members<T>::value);

// Returns the key of a described member: its name, without the trailing underscore of a name that
// is a keyword of C++.
constexpr std::string_view key_of_member(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// `Members`: Boost's list of the described members.
template <class T, class Members>
constexpr auto keys_with_names() {
  if constexpr (HasKeys<T>) {
    return keys_of(Tag<T>{});
  } else {
    std::array<Key, boost::mp11::mp_size<Members>::value> keys{};
    std::size_t i = 0;
    boost::mp11::mp_for_each<Members>([&](auto member) { keys[i++].name = key_of_member(member.name); });
    return keys;
  }
}

// Checks the keys of a map: reports unknown keys with the nearest known one, missing keys, and keys
// without effect. A null counts as an empty map, so that a section whose lines are all commented
// out is still one. `tag` is the key of a choice, or empty.
bool check_keys(const Node& node, const Path& path, std::span<const Key> keys, std::string_view tag,
                Problems& problems);
bool check_range(double value, const Range& range, const Node& node, const Path& path, Problems& problems);
std::string to_string(const Range& range);  // ">= 1", "0 to 1", or empty
// For a number that was refused although null is allowed: adds to the remedy of the error made
// since `errors_before` what null means for the key ("null: no clipping").
void mention_null(const Key& key, std::size_t errors_before, Problems& problems);
// The rows of the reference that every key has.
Row make_row(const std::string& path, const Key& key, std::string type, const Json& fallback, bool has_table);

template <class M>
bool check_member(const M& value, const Range& range, const Node& node, const Path& path,
                  Problems& problems) {
  if constexpr (std::is_arithmetic_v<M>) {
    return check_range(static_cast<double>(value), range, node, path, problems);
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    return !value.has_value() || check_member(*value, range, node, path, problems);
  } else if constexpr (requires {
                         std::is_arithmetic_v<typename M::value_type>;
                         value.size();
                         value[0];
                       }) {
    bool good = true;
    if constexpr (std::is_arithmetic_v<typename M::value_type>) {
      for (const auto item : value) good &= check_member(item, range, node, path, problems);
    }
    return good;
  }
  return true;
}

// Not written where it is used: GCC 14 then refuses a member that is no pointer, instead of saying no.
template <class M>
concept NumberOrNull = requires(M& field) {
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*field)>>;
};

template <DescribedStruct T>
struct Codec<T> {
  // Members of a base come first.
  using Members =
      boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;
  // A function and not a static member: two plugins that each have a T of the same name would share
  // the member, because it would be one object of the whole process (STB_GNU_UNIQUE).
  static constexpr auto table() { return keys_with_names<T, Members>(); }

  static constexpr bool keys_match_members() {
    constexpr auto keys = table();
    std::size_t i = 0;
    bool same = true;
    boost::mp11::mp_for_each<Members>([&](auto member) {
      same = same && i < keys.size() && keys[i].name == key_of_member(member.name);
      ++i;
    });
    return same && i == keys.size();
  }
  static_assert(keys_match_members(), "keys_of() names the described members in their order");

  static std::string type() { return "section"; }

  static bool read(T& out, const Node& node, const Path& path, Problems& problems,
                   std::string_view tag = {}) {
    constexpr auto keys = table();
    bool good = check_keys(node, path, keys, tag, problems);
    std::size_t i = 0;
    boost::mp11::mp_for_each<Members>([&](auto member) {
      using M = std::remove_reference_t<decltype(out.*member.pointer)>;
      const Key& key = keys[i++];
      const Node* value = node.find(key.name);
      if (!value) return;
      const Path here{&path, key.name};
      M& field = out.*member.pointer;
      const std::size_t errors_before = problems.errors().size();
      const bool taken = Codec<M>::read(field, *value, here, problems) &&
                         check_member(field, key.range, *value, here, problems);
      if constexpr (NumberOrNull<M>) {
        if (!taken) mention_null(key, errors_before, problems);
      }
      good = taken && good;
    });
    return good;
  }

  static Json write(const T& value) {
    Json map = Json::object();
    boost::mp11::mp_for_each<Members>([&](auto member) {
      using M = std::remove_cvref_t<decltype(value.*member.pointer)>;
      map[std::string(key_of_member(member.name))] = Codec<M>::write(value.*member.pointer);
    });
    return map;
  }

  static void tables(Reference& reference, const std::string& path, const T& value,
                     std::string_view title = {}) {
    constexpr auto keys = Codec::table();
    Table table{title.empty() ? path : std::string(title), {}};
    std::size_t i = 0;
    boost::mp11::mp_for_each<Members>([&](auto member) {
      using M = std::remove_cvref_t<decltype(value.*member.pointer)>;
      constexpr bool has_table = requires(const M& m) {
        Codec<M>::tables(reference, path, m);
      };
      table.rows.push_back(
          make_row(path, keys[i++], Codec<M>::type(), Codec<M>::write(value.*member.pointer), has_table));
    });
    reference.add(std::move(table));
    i = 0;
    boost::mp11::mp_for_each<Members>([&](auto member) {
      const Key& key = keys[i++];
      const std::string here = path.empty() ? std::string(key.name) : path + "." + std::string(key.name);
      add_tables(reference, here, value.*member.pointer);
    });
  }
};

// A section that stands in several others: the reference prints its keys once, not again under each of them.
template <DescribedStruct Keys>
struct Once : Keys {};

template <class Keys>
struct Codec<Once<Keys>> {
  static std::string type() { return Codec<Keys>::type(); }
  static bool read(Once<Keys>& out, const Node& node, const Path& path, Problems& problems) {
    return Codec<Keys>::read(out, node, path, problems);
  }
  static Json write(const Once<Keys>& value) { return Codec<Keys>::write(value); }
  static void tables(Reference& reference, const std::string& path, const Once<Keys>& value) {
    const std::vector<Table>& tables = reference.tables();
    const auto has_path = [&](const Table& table) { return table.title == path; };
    if (std::none_of(tables.begin(), tables.end(), has_path)) Codec<Keys>::tables(reference, path, value);
  }
};

}  // namespace d9d::config
