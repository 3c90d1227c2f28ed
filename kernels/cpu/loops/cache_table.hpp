#pragma once
// The inner loops of decoding with a cache (kernels/attention/token_cache.hpp), as those of table.hpp.

#include "kernels/cpu/loops/table.hpp"

namespace d9d::kernels {

template <class T>
struct CacheLoops {
  using S = Sum<T>;
  // q [dim] = scale * x.
  void (*widen)(int64_t dim, S scale, const T* x, S* q);
  // scores [keys] = rows [keys, dim] q.
  void (*key_scores)(int64_t keys, int64_t dim, const T* rows, const S* q, S* scores);
  // y [dim] = scale * sum over keys of weight * row, rows [keys, dim].
  void (*weigh_rows)(int64_t keys, int64_t dim, const T* rows, const S* weights, S scale, T* y);
};

template <class S>
struct DeltaStep {
  int64_t dk, dv;
  S kept, beta;        // exp(decay)
  const S *q, *k, *v;  // [dk], [dk], [dv]
};

template <class S>
struct DeltaStepLoops {
  // state [dk, dv] advances by one token; out [dv]; change [dv] is scratch.
  void (*step)(const DeltaStep<S>& token, S* state, S* change, S* out);
};

template <class T>
const CacheLoops<T>& cache_loops(Isa isa = isa_of_this_machine());
template <class S>
const DeltaStepLoops<S>& delta_step_loops(Isa isa = isa_of_this_machine());

}  // namespace d9d::kernels
