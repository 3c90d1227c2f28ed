#include "kernels/cuda/embedding.hpp"

#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

constexpr std::int64_t chunk = 64;  // sorted tokens that a thread sums up

struct FindRows {
  RowsOfIds call;
  __device__ void operator()(std::int64_t, std::int64_t i) const {
    const std::int64_t row = call.ids[i] - call.first;
    call.rows[i] = row >= 0 && row < call.table_rows ? row : -1;
  }
};

template <class T, int size>
struct CopyRows {
  Gather call;
  __device__ void operator()(std::int64_t i, std::int64_t pack) const {
    const std::int64_t row = call.rows[i];
    Pack<size> values{};
    if (row >= 0) values = load_pack<size>(row_of<T>(call.table, row) + pack * size);
    store_pack<size>(static_cast<T*>(call.to) + i * call.width + pack * size, values);
  }
};

template <int size>
__device__ inline void add(Pack<size>& sum, const Pack<size>& values) {
#pragma unroll
  for (int e = 0; e < size; ++e) sum.at[e] += values.at[e];
}
template <class T, int size>
__device__ inline void add_to(T* into, const Pack<size>& values) {
  Pack<size> sum = load_pack<size>(into);
  add(sum, values);
  store_pack<size>(into, sum);
}

// A chunk's sorted tokens, run by run of equal rows. A run that lies in the chunk goes to its row; the first one may go
// on from the chunk before, and the last one into the next: those two sums are kept, as heads and tails.
template <class T, class Into, int size>
struct SumChunk {
  SegmentSums call;
  std::int64_t chunks;
  __device__ void operator()(std::int64_t c, std::int64_t pack) const {
    const std::int64_t begin = c * chunk, end = min(begin + chunk, call.count), at = pack * size;
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t row = call.sorted[i];
      const bool from_before = i == begin && i > 0 && call.sorted[i - 1] == row;
      Pack<size> sum{};
      for (; i < end && call.sorted[i] == row; ++i)
        add(sum, load_pack<size>(static_cast<const T*>(call.grad) + call.order[i] * call.width + at));
      const bool goes_on = i == end && end < call.count && call.sorted[end] == row;
      if (row < 0) continue;
      if (from_before) {
        store_pack<size>(call.partial + c * call.width + at, sum);
      } else if (goes_on) {
        store_pack<size>(call.partial + (chunks + c) * call.width + at, sum);
      } else {
        add_to(static_cast<Into*>(call.into) + row * call.width + at, sum);
      }
    }
  }
};

// The runs that begin in a chunk and end in a later one: its tail, and the heads of the chunks after it.
template <class Into, int size>
struct JoinChunks {
  SegmentSums call;
  std::int64_t chunks;
  __device__ void operator()(std::int64_t c, std::int64_t pack) const {
    const std::int64_t begin = c * chunk, end = begin + chunk, at = pack * size;
    if (end >= call.count) return;
    const std::int64_t row = call.sorted[end - 1];
    const bool goes_on = call.sorted[end] == row;
    const bool begins_before = begin > 0 && call.sorted[begin - 1] == row;
    if (row < 0 || !goes_on || begins_before) return;
    const float* const partial = call.partial;
    Pack<size> sum = load_pack<size>(partial + (chunks + c) * call.width + at);
    for (std::int64_t next = c + 1; next < chunks && call.sorted[next * chunk] == row; ++next)
      add(sum, load_pack<size>(partial + next * call.width + at));
    add_to(static_cast<Into*>(call.into) + row * call.width + at, sum);
  }
};

}  // namespace

int rows_of_ids(const RowsOfIds& call, CUstream_st* stream) {
  return launch_rows(1, call.count, FindRows{call}, stream);
}

int gather(const Gather& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(call.width, {call.table, {call.to}}), [&](auto size) {
      return launch_rows(call.count, call.width / size, CopyRows<T, size()>{call}, stream);
    });
  });
}

std::int64_t segment_chunks(std::int64_t count) {
  return (count + chunk - 1) / chunk;
}

int segment_sums(const SegmentSums& call, CUstream_st* stream) {
  const std::int64_t chunks = segment_chunks(call.count);
  return dispatch(call.type, [&](auto tag) {
    return dispatch(call.into_type, [&](auto into_tag) {
      using T = decltype(tag);
      using Into = decltype(into_tag);
      return dispatch_packs<T>(takes_packs<T>(call.width, {{call.grad}, {call.into}}), [&](auto size) {
        const std::int64_t packs = call.width / size;
        const int code = launch_rows(chunks, packs, SumChunk<T, Into, size()>{call, chunks}, stream);
        return code != 0 ? code : launch_rows(chunks, packs, JoinChunks<Into, size()>{call, chunks}, stream);
      });
    });
  });
}

}  // namespace d9d::cuda
