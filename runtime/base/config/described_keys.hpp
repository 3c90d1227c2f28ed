#pragma once
// The keys of a described struct: those of keys_of() if there is one. Otherwise each described
// member is an optional key of the same name that accepts every value of its type; that is enough
// for most sections of plugins (count_key.hpp).

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <array>
#include <string_view>
#include <type_traits>

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

}  // namespace d9d::config
