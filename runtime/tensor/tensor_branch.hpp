#pragma once
// Writes the members of a tree of tensors (tensor_tree.hpp) to a TensorMap under their paths,
// and reads them back.

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d::tensor_tree {

std::string below(const std::string& path, const std::string& name);  // "image/pixels"
// Returns the names directly below a path, each once, in the map's order.
std::vector<std::string> names_below(const TensorMap& map, const std::string& path);
// Returns the name. Input error if it is empty or contains a '/'.
const std::string& checked_name(const std::string& name);
void put(TensorMap& map, const std::string& path, const at::Tensor& tensor);
// Bytes as a tensor, uint8 [n], and back.
at::Tensor tensor_of(std::string_view bytes);
std::string bytes_at(const TensorMap& map, const std::string& path, const char* what);
bool has(const TensorMap& map, const std::string& path);      // a tensor at or below the path
void require(const TensorMap& map, const std::string& path);  // input error if there is none

// Calls it if it takes such a leaf.
template <class Leaf, class Function>
void visit_leaf(Leaf& leaf, const std::string& path, Function& function) {
  if constexpr (std::is_invocable_v<Function&, const std::string&, Leaf&>) function(path, leaf);
}

template <class Tree>
struct Branch {
  using Members =
      boost::describe::describe_members<Tree, boost::describe::mod_public | boost::describe::mod_inherited>;
  static void write(const Tree& tree, const std::string& path, TensorMap& map) {
    boost::mp11::mp_for_each<Members>([&](auto member) {
      const auto& value = tree.*member.pointer;
      Branch<std::remove_cvref_t<decltype(value)>>::write(value, below(path, member.name), map);
    });
  }
  static void read(Tree& tree, const std::string& path, const TensorMap& map, const char* what) {
    boost::mp11::mp_for_each<Members>([&](auto member) {
      auto& value = tree.*member.pointer;
      Branch<std::remove_cvref_t<decltype(value)>>::read(value, below(path, member.name), map, what);
    });
  }
  static void visit(auto& tree, const std::string& path, auto& function) {
    boost::mp11::mp_for_each<Members>([&](auto member) {
      auto& value = tree.*member.pointer;
      Branch<std::remove_cvref_t<decltype(value)>>::visit(value, below(path, member.name), function);
    });
  }
};

template <>
struct Branch<at::Tensor> {
  static void write(const at::Tensor& tensor, const std::string& path, TensorMap& map) {
    put(map, path, tensor);
  }
  static void read(at::Tensor& tensor, const std::string& path, const TensorMap& map, const char* what) {
    tensor = tensor_at(map, path, what);
  }
  static void visit(auto& leaf, const std::string& path, auto& function) { visit_leaf(leaf, path, function); }
};

template <>
struct Branch<std::string> {
  static void write(const std::string& text, const std::string& path, TensorMap& map) {
    put(map, path, tensor_of(text));
  }
  static void read(std::string& text, const std::string& path, const TensorMap& map, const char* what) {
    text = bytes_at(map, path, what);
  }
  static void visit(auto& leaf, const std::string& path, auto& function) { visit_leaf(leaf, path, function); }
};

template <class T>
struct Branch<std::optional<T>> {
  static void write(const std::optional<T>& value, const std::string& path, TensorMap& map) {
    if (value) Branch<T>::write(*value, path, map);
  }
  static void read(std::optional<T>& value, const std::string& path, const TensorMap& map, const char* what) {
    value.reset();
    if (has(map, path)) Branch<T>::read(value.emplace(), path, map, what);
  }
  static void visit(auto& value, const std::string& path, auto& function) {
    if (value) Branch<T>::visit(*value, path, function);
  }
};

template <class T>
struct Branch<std::vector<T>> {
  static void write(const std::vector<T>& values, const std::string& path, TensorMap& map) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string item = below(path, std::to_string(i));
      Branch<T>::write(values[i], item, map);
      require(map, item);
    }
  }
  static void read(std::vector<T>& values, const std::string& path, const TensorMap& map, const char* what) {
    values.clear();
    for (std::string item = below(path, "0"); has(map, item);
         item = below(path, std::to_string(values.size())))
      Branch<T>::read(values.emplace_back(), item, map, what);
  }
  static void visit(auto& values, const std::string& path, auto& function) {
    for (std::size_t i = 0; i < values.size(); ++i)
      Branch<T>::visit(values[i], below(path, std::to_string(i)), function);
  }
};

template <class T>
struct Branch<std::map<std::string, T>> {
  static void write(const std::map<std::string, T>& values, const std::string& path, TensorMap& map) {
    for (const auto& [name, value] : values) {
      const std::string item = below(path, checked_name(name));
      Branch<T>::write(value, item, map);
      require(map, item);
    }
  }
  static void read(std::map<std::string, T>& values, const std::string& path, const TensorMap& map,
                   const char* what) {
    values.clear();
    for (const std::string& name : names_below(map, path))
      Branch<T>::read(values[name], below(path, name), map, what);
  }
  static void visit(auto& values, const std::string& path, auto& function) {
    for (auto& [name, value] : values) Branch<T>::visit(value, below(path, name), function);
  }
};

}  // namespace d9d::tensor_tree
