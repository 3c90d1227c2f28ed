#pragma once
// One op of an op table: a name, and the function that implements the op on one device.

namespace d9d::kernels {

template <class Signature>
class Op;

template <class Result, class... Parameters>
class Op<Result(Parameters...)> {
 public:
  using Function = Result (*)(Parameters...);

  constexpr explicit Op(const char* name) : name_(name) {}
  constexpr Op& operator=(Function function) {
    function_ = function;
    return *this;
  }

  constexpr const char* name() const { return name_; }
  // Null if the device does not have this op.
  constexpr Function function() const { return function_; }

 private:
  const char* name_;
  Function function_ = nullptr;
};

}  // namespace d9d::kernels
