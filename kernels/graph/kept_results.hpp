#pragma once
// Selective activation checkpointing. A segment of the model is run twice: in forward without a graph, and in
// backward with one (runtime/nn/model/activation_checkpoint.hpp). Costly ops pass through run_once(). In the first
// run they are recorded, and results of the kinds to keep stay. In the second run the op of the same ordinal takes
// what it kept, and is computed again if it kept nothing. Its node of the graph is made in any case, so gradients
// have the bits that they have without checkpointing.
//
// Both runs must run the same ops on the same shapes: c10::Error if they do not. Kept tensors must not be
// written to between the runs: c10::Error, too.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "kernels/graph/kept_kind.hpp"

namespace d9d::kernels {

using Results = std::vector<at::Tensor>;
using KeptKinds = std::vector<KeptKind>;

class KeptResults {
 public:
  explicit KeptResults(KeptKinds kinds) : kinds_(std::move(kinds)) {}

  // See run_once(), mark_unread() and mark_read_by_next().
  Results run(const char* op, std::initializer_list<KeptKind> kinds, const at::Tensor& input,
              c10::function_ref<Results()> compute);
  void mark_unread(const at::Tensor& result);
  void mark_read_by_next(const at::Tensor& result);

  // Makes `results` those of this thread until the scope ends. `again`: for the second run.
  class Scope {
   public:
    Scope(KeptResults& results, bool again);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    KeptResults* const previous_;
  };
  // Ends the second run. An error if the first one ran more ops.
  void require_all_taken() const;
  // Returns those of this thread, or null outside of segments.
  static KeptResults* current();

 private:
  struct Kept {
    at::Tensor tensor;  // undefined if it was not kept
    std::vector<std::int64_t> sizes, strides;
    at::TensorOptions options;
    std::int64_t version = 0;
  };
  struct Entry {
    const char* op;
    std::vector<std::int64_t> input;  // sizes
    bool keeps = false;
    bool unread = false;
    bool read_by_next = false;
    std::vector<Kept> results;
  };
  Results record(Entry entry, Results results);
  static Results take(Entry& entry);
  bool is_last(const at::Tensor& result) const;
  void drop_read_by_last();

  const KeptKinds kinds_;
  bool again_ = false;
  std::size_t next_ = 0;  // of the second run
  std::vector<Entry> entries_;
  // Of the last op's result, if it has one. Weak: it does not keep the values, but no other storage gets its address.
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> last_;
};

// Returns the results of an op: compute(), or what the segment kept of them. They are kept if the segment keeps one
// of `kinds`. `op` and the shape of `input` must be the same in both runs.
Results run_once(const char* op, std::initializer_list<KeptKind> kinds, const at::Tensor& input,
                 c10::function_ref<Results()> compute);

// Says that nothing reads the values of `result` in the second run, which then neither keeps nor computes them: it
// gets a tensor without values. Has no effect unless `result` is the one result of the last op recorded.
void mark_unread(const at::Tensor& result);
// Says that only the next op recorded reads the values of `result`: they are unread unless that op is computed again.
void mark_read_by_next(const at::Tensor& result);

}  // namespace d9d::kernels
