#pragma once
// Where nodes keep the tensors that their backward needs, if not in the graph. (Torch's own hooks for saved tensors are
// set for a thread from Python only.) Without a place nothing changes.

#include <ATen/core/Tensor.h>

#include <memory>

namespace d9d::kernels {

// A tensor that a place has taken.
class SavedElsewhere {
 public:
  virtual ~SavedElsewhere() = default;
  // With the bits, sizes and strides that it was saved with, without a history. Any number of times, on the thread that
  // runs the backward pass.
  virtual at::Tensor get() = 0;
};

class SavingPlace {
 public:
  virtual ~SavingPlace() = default;
  // Null: the node keeps it. An output may not have its values yet.
  virtual std::unique_ptr<SavedElsewhere> take(const at::Tensor& tensor) = 0;

  // That of this thread; null: none.
  static SavingPlace* current();
  // Until the scope ends; scopes nest, and the inner one counts.
  class Scope {
   public:
    explicit Scope(SavingPlace* place);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SavingPlace* const previous_;
  };
};

}  // namespace d9d::kernels
