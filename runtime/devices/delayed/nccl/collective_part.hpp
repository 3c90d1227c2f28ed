#pragma once
// One rank's arguments of a collective, for tables that do NCCL's work themselves (emulated.hpp, the
// fake of the tests).

#include "runtime/comm/nccl/api.hpp"

namespace d9d::nccl {

struct CollectivePart {
  enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast } kind = Kind::all_reduce;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // elements: of the input of all_gather, of the output of reduce_scatter
  c10::ScalarType type = c10::ScalarType::Byte;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
};

inline std::size_t bytes_of(const CollectivePart& part) {
  return part.count * c10::elementSize(part.type);
}

inline bool same_call(const CollectivePart& one, const CollectivePart& other) {
  return one.kind == other.kind && one.count == other.count && one.type == other.type && one.op == other.op &&
         one.root == other.root;
}

// Fills the table's collectives with calls of one function: int launch(const
// CollectivePart&, Comm, Stream).
template <auto launch>
void fill_collectives(Api& api) {
  using Kind = CollectivePart::Kind;
  api.all_reduce = [](void* data, std::size_t count, c10::ScalarType type, ReduceOp op, Comm comm,
                      Stream stream) {
    return launch({Kind::all_reduce, data, data, count, type, op}, comm, stream);
  };
  api.reduce_scatter = [](const void* in, void* out, std::size_t count, c10::ScalarType type, ReduceOp op,
                          Comm comm, Stream stream) {
    return launch({Kind::reduce_scatter, in, out, count, type, op}, comm, stream);
  };
  api.all_gather = [](const void* in, void* out, std::size_t count, c10::ScalarType type, Comm comm,
                      Stream stream) {
    return launch({Kind::all_gather, in, out, count, type}, comm, stream);
  };
  api.broadcast = [](void* data, std::size_t count, c10::ScalarType type, int root, Comm comm,
                     Stream stream) {
    return launch({Kind::broadcast, data, data, count, type, ReduceOp::sum, root}, comm, stream);
  };
}

}  // namespace d9d::nccl
