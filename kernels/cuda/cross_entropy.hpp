#pragma once
// Softmax and cross entropy of rows of logits. See kernels/ops/cross_entropy_ops.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

struct Logits {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* data = nullptr;           // [rows, width], dense
  const std::int64_t* labels = nullptr;  // [rows]
  std::int64_t first = 0;                // id of the first column
};

// [rows, width], dense; may be the logits. Null: it is not wanted.
struct GradientOfLogits {
  ElementType type = ElementType::float32;
  void* data = nullptr;
};

struct CrossEntropy {
  Logits logits;
  GradientOfLogits gradient;
  float* inverse = nullptr;  // [rows]
  float* loss = nullptr;     // [rows], may be null
};
int cross_entropy(const CrossEntropy& call, CUstream_st* stream);

// statistics [3, rows]
int vocabulary_statistics(const Logits& logits, float* statistics, CUstream_st* stream);

struct JoinVocabulary {
  std::int64_t num_parts = 0;
  std::int64_t rows = 0;
  const float* parts = nullptr;  // [num_parts, 3, rows]
  float* largest = nullptr;      // [rows]
  float* total = nullptr;        // [rows]
  float* loss = nullptr;         // [rows]
};
int join_vocabulary(const JoinVocabulary& call, CUstream_st* stream);

struct CrossEntropyOfPart {
  Logits logits;
  GradientOfLogits gradient;
  const float* largest = nullptr;  // [rows], of all parts
  const float* total = nullptr;    // [rows]
};
int cross_entropy_of_part(const CrossEntropyOfPart& call, CUstream_st* stream);

struct OnlineCrossEntropy {
  Logits logits;
  float* exponentials = nullptr;  // the logits
  float* state = nullptr;         // [3, rows]
  float* factor = nullptr;        // [rows]
};
int cross_entropy_online(const OnlineCrossEntropy& call, CUstream_st* stream);

// into = factor[0] * x + beta into, [count] each. beta is 0 or 1.
struct AddScaled {
  ElementType x_type = ElementType::float32, into_type = ElementType::float32;
  std::int64_t count = 0;
  const void* x = nullptr;
  const float* factor = nullptr;
  void* into = nullptr;
  bool add = false;
};
int add_scaled(const AddScaled& call, CUstream_st* stream);

}  // namespace d9d::cuda
