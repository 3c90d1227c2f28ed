#pragma once
// Enums described with BOOST_DESCRIBE_ENUM, by the names of their enumerators. A trailing underscore, for
// names that are keywords of C++ (`static_`), is not part of the name.

#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/config/codec.hpp"

namespace d9d::config {

template <class T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;

// Reads one of `names`; the index, or -1 after reporting.
int read_name(const Node& node, const Path& path, Problems& problems,
              const std::vector<std::string_view>& names);
constexpr std::string_view enumerator_name(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}
// "a \| b \| c"
std::string join_names(const std::vector<std::string_view>& names);

template <DescribedEnum T>
struct Codec<T> {
  using Enumerators = boost::describe::describe_enumerators<T>;

  static std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    boost::mp11::mp_for_each<Enumerators>(
        [&](auto enumerator) { names.push_back(enumerator_name(enumerator.name)); });
    return names;
  }
  static std::string type() { return join_names(names()); }
  static bool read(T& out, const Node& node, const Path& path, Problems& problems) {
    const int index = read_name(node, path, problems, names());
    int at = 0;
    boost::mp11::mp_for_each<Enumerators>([&](auto enumerator) {
      if (at++ == index) out = enumerator.value;
    });
    return index >= 0;
  }
  static Json write(T value) {
    std::string_view name;
    boost::mp11::mp_for_each<Enumerators>([&](auto enumerator) {
      if (enumerator.value == value) name = enumerator_name(enumerator.name);
    });
    return std::string(name);
  }
};

}  // namespace d9d::config
