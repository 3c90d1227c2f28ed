#include "kernels/graph/kept_results.hpp"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace d9d::kernels {
namespace {

KeptResults*& results_of_thread() {
  static thread_local KeptResults* results = nullptr;
  return results;
}

constexpr const char* remedy =
    "A checkpointed layer must run the same ops on the same shapes when backward computes it again: look "
    "for a choice that depends on time, on random numbers or on values that change within a step, or set "
    "model_provider.enable_checkpointing: false";

}  // namespace

Results KeptResults::run(const char* op, std::initializer_list<KeptKind> kinds, const at::Tensor& input,
                         c10::function_ref<Results()> compute) {
  if (!again_) {
    const bool keeps = std::any_of(kinds.begin(), kinds.end(), [this](KeptKind kind) {
      return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
    });
    return record({.op = op, .input = input.sizes().vec(), .keeps = keeps}, compute());
  }
  TORCH_CHECK(next_ < entries_.size(), op, " of ", input.sizes(),
              " ran when a checkpointed layer was computed ", "again, after all ", entries_.size(),
              " ops of its first run. ", remedy);
  Entry& entry = entries_[next_++];
  TORCH_CHECK(std::string_view(op) == entry.op && input.sizes() == entry.input, "op ", next_, " of a ",
              "checkpointed layer was ", entry.op, " of ", at::IntArrayRef(entry.input),
              " in forward, and is ", op, " of ", input.sizes(), " when it is computed again. ", remedy);
  return entry.keeps || entry.unread ? take(entry) : compute();
}

Results KeptResults::record(Entry entry, Results results) {
  for (const at::Tensor& result : results) {
    Kept& kept = entry.results.emplace_back();
    if (!result.defined()) continue;
    kept = {entry.keeps ? result : at::Tensor(), result.sizes().vec(), result.strides().vec(),
            result.options().requires_grad(false),
            result.unsafeGetTensorImpl()->version_counter().current_version()};
  }
  last_.reset();
  if (results.size() == 1 && results.front().defined())
    last_ = results.front().storage().getWeakStorageImpl();
  const bool keeps = entry.keeps;
  entries_.push_back(std::move(entry));
  if (keeps) drop_read_by_last();
  return results;
}

// Hands the tensors over, so that their memory is freed when the second run's graph is.
Results KeptResults::take(Entry& entry) {
  Results results;
  for (Kept& kept : entry.results) {
    if (entry.unread) {
      results.push_back(at::empty_strided(kept.sizes, kept.strides, kept.options));
      continue;
    }
    const at::Tensor tensor = std::exchange(kept.tensor, {});
    TORCH_CHECK(!tensor.defined() ||
                    tensor.unsafeGetTensorImpl()->version_counter().current_version() == kept.version,
                "the result of ", entry.op, " ", at::IntArrayRef(kept.sizes), ", which a checkpointed layer ",
                "kept for backward, was written to in place; write the op that does so out of place");
    results.push_back(tensor.defined() ? tensor.detach() : tensor);
  }
  return results;
}

bool KeptResults::is_last(const at::Tensor& result) const {
  return !again_ && last_ && last_->_unsafe_get_target() == result.storage().unsafeGetStorageImpl();
}

// The last op will not be computed again, so it need not read what was recorded only for it.
void KeptResults::drop_read_by_last() {
  for (std::size_t i = entries_.size() - 1; i > 0 && entries_[i - 1].read_by_next; --i) {
    entries_[i - 1].unread = true;
    entries_[i - 1].results.front().tensor.reset();
  }
}

void KeptResults::mark_unread(const at::Tensor& result) {
  if (!is_last(result)) return;
  entries_.back().unread = true;
  entries_.back().results.front().tensor.reset();
  drop_read_by_last();
}

void KeptResults::mark_read_by_next(const at::Tensor& result) {
  if (is_last(result)) entries_.back().read_by_next = true;
}

void KeptResults::require_all_taken() const {
  TORCH_CHECK(next_ == entries_.size(), "a checkpointed layer ran ", entries_.size(), " ops in forward, and ",
              next_, " when it was computed again: ", next_ < entries_.size() ? entries_[next_].op : "",
              " is missing. ", remedy);
}

KeptResults* KeptResults::current() {
  return results_of_thread();
}

KeptResults::Scope::Scope(KeptResults& results, bool again)
    : previous_(std::exchange(results_of_thread(), &results)) {
  results.again_ = again;
}

KeptResults::Scope::~Scope() {
  results_of_thread() = previous_;
}

Results run_once(const char* op, std::initializer_list<KeptKind> kinds, const at::Tensor& input,
                 c10::function_ref<Results()> compute) {
  KeptResults* const results = KeptResults::current();
  return results == nullptr ? compute() : results->run(op, kinds, input, compute);
}

void mark_unread(const at::Tensor& result) {
  if (KeptResults* const results = KeptResults::current()) results->mark_unread(result);
}

void mark_read_by_next(const at::Tensor& result) {
  if (KeptResults* const results = KeptResults::current()) results->mark_read_by_next(result);
}

}  // namespace d9d::kernels
