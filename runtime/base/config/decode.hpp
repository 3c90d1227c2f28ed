#pragma once
// Config files into plain structs. Include this to decode; structs need only keys.hpp and Boost.Describe.
//   Problems problems;
//   JobConfig job = decode<JobConfig>(parse_file("job.yaml"), problems);
//   problems.throw_if_any();

#include "runtime/base/config/codec_choice.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/config/period.hpp"

namespace d9d::config {

template <class T>
T decode(const Node& root, Problems& problems, std::string_view path = {}) {
  T out{};
  Codec<T>::read(out, root, Path{nullptr, path}, problems);
  return out;
}

// Decodes a plugin's section into the plugin's own struct. Mistakes are thrown as ErrorKind::input.
template <class T>
T decode(const Section& section) {
  Problems problems;
  T out = decode<T>(section.node, problems, section.path);
  problems.throw_if_any();
  return out;
}

// Encodes all keys with their values, defaults included, in the order of the struct.
template <class T>
Json encode(const T& value) {
  return Codec<T>::write(value);
}

template <class T>
Reference reference_of(std::string_view path = {}) {
  Reference reference;
  add_tables(reference, std::string(path), T{});
  return reference;
}

}  // namespace d9d::config
