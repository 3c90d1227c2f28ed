#pragma once
// A place outside of the graph where nodes keep the tensors that their backward needs. Without one they
// keep them in the graph. (torch's own hooks for saved tensors can be set for a thread only from Python.)

#include <ATen/core/Tensor.h>

#include <memory>

namespace d9d::kernels {

// A tensor that a SavingPlace has taken.
class SavedElsewhere {
 public:
  virtual ~SavedElsewhere() = default;
  // Returns the tensor with the bits, sizes and strides with which it was saved, without a history. May
  // be called several times, on the thread that runs the backward pass.
  virtual at::Tensor get() = 0;
};

class SavingPlace {
 public:
  virtual ~SavingPlace() = default;
  // Takes a tensor, or returns null to leave it in the graph. `tensor` may be an output that
  // has no values yet.
  virtual std::unique_ptr<SavedElsewhere> take(const at::Tensor& tensor) = 0;

  // Returns the place of this thread, or null if there is none.
  static SavingPlace* current();
  // Sets the place of this thread until the scope ends. Scopes nest; the inner one counts.
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
