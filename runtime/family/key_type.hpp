#pragma once
// Makes a KeyType of what the config engine decodes. Internal to runtime/family.

#include "runtime/base/config/decode.hpp"
#include "runtime/family/model_key.hpp"

namespace d9d {

template <class T>
struct KeyOf {
  using Codec = config::Codec<std::optional<T>>;

  static bool read(config::Json& out, const config::Key& key, const config::Node& node,
                   const config::Path& path, config::Problems& problems) {
    std::optional<T> value;
    const std::size_t errors_before = problems.errors().size();
    const bool taken = Codec::read(value, node, path, problems) &&
                       config::check_member(value, key.range, node, path, problems);
    if (std::is_arithmetic_v<T> && !taken) config::mention_null(key, errors_before, problems);
    if (taken) out = Codec::write(value);
    return taken;
  }
  static void tables(config::Reference& reference, const std::string& path, std::string_view title) {
    if constexpr (config::DescribedStruct<T>) config::Codec<T>::tables(reference, path, T{}, title);
  }
};

template <class T>
constexpr KeyType key_of() {
  return {&KeyOf<T>::Codec::type, &KeyOf<T>::read, config::DescribedStruct<T> ? &KeyOf<T>::tables : nullptr};
}

}  // namespace d9d
