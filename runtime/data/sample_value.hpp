#pragma once
// A value of any type in a sample (CORE-34). Copies share it. No torch in this header.

#include <any>
#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace d9d {

class SampleValue {
 public:
  SampleValue() = default;
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, SampleValue>)
      SampleValue(T&& value)  // NOLINT: converts on purpose
      : value_(std::make_shared<const std::any>(std::forward<T>(value))) {}

  // Returns the value; null if it is of another type.
  template <class T>
  const T* find() const {
    return std::any_cast<T>(value_.get());
  }
  // The same, but another type is an input error that names both.
  template <class T>
  const T& as() const {
    const T* const found = find<T>();
    if (found == nullptr) refuse(typeid(T));
    return *found;
  }
  const std::type_info& type() const { return value_ ? value_->type() : typeid(void); }
  // Whether both are copies of one value.
  bool operator==(const SampleValue&) const = default;

 private:
  [[noreturn]] void refuse(const std::type_info& wanted) const;

  std::shared_ptr<const std::any> value_;
};

}  // namespace d9d
