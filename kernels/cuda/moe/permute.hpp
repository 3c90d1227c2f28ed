#pragma once
// Rows in expert order: a stable sort of choices, and what is spread to rows and combined from them.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

constexpr std::int64_t order_experts_max = 3072;  // whose counts fit shared memory

// Choices sorted by expert, within an expert by their place: offsets [experts + 1]; map [count]: the row of a choice,
// -1 for one that is outside of [0, experts).
struct ExpertOrder {
  std::int64_t count = 0;
  int experts = 0;
  const std::int64_t* choices = nullptr;  // [count]
  int* counts = nullptr;                  // scratch [experts, order_chunks(count)]
  std::int64_t* offsets = nullptr;
  std::int64_t* map = nullptr;
};
int expert_order(const ExpertOrder& call, CUstream_st* stream);
std::int64_t order_chunks(std::int64_t count);

// As the op of this name.
struct ChoiceOwners {
  std::int64_t tokens = 0, top_k = 0;
  unsigned per_owner = 1;
  const std::int64_t* experts = nullptr;  // [tokens, top_k]
  std::int64_t* owners = nullptr;         // [tokens, top_k]
};
int choice_owners(const ChoiceOwners& call, CUstream_st* stream);

// token[map[t, j]] = t, scale[map[t, j]] = probs[t, j].
struct RowsOfChoices {
  std::int64_t tokens = 0, top_k = 0;
  const std::int64_t* map = nullptr;  // [tokens, top_k]
  const float* probs = nullptr;       // [tokens, top_k]
  std::int64_t* token = nullptr;      // [rows]
  float* scale = nullptr;             // [rows]
};
int rows_of_choices(const RowsOfChoices& call, CUstream_st* stream);

// Between tokens [tokens, width] and rows [.., width] by map [tokens, top_k]. scale is null (1), by choice, or by row.
struct Permute {
  ElementType type = ElementType::float32;
  std::int64_t tokens = 0, top_k = 0, width = 0;
  const std::int64_t* map = nullptr;
  const float* scale = nullptr;
  bool scale_by_row = false;
  ConstRows in;
  ConstRows also;       // of combine_rows: added to `in`, null: none
  void* out = nullptr;  // dense
};
// rows[map[t, j]] = scale * x[t]
int spread_rows(const Permute& call, CUstream_st* stream);
// y[t] = sum over j of scale * (in + also)[map[t, j]], in fp32 and in the order of j
int combine_rows(const Permute& call, CUstream_st* stream);

// dots[t, j] = y[t] . rows[map[t, j]], 0 for -1.
struct RowDots {
  ElementType type = ElementType::float32;
  std::int64_t tokens = 0, top_k = 0, width = 0;
  const std::int64_t* map = nullptr;
  ConstRows y;
  ConstRows rows;
  float* dots = nullptr;
};
int row_dots(const RowDots& call, CUstream_st* stream);

}  // namespace d9d::cuda
