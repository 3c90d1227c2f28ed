#pragma once
// What a TensorLane actor runs on its thread: tensors from one rank to one other rank in a different process,
// in order. No torch in this header.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct TensorDescription {
  std::string name;
  std::uint8_t dtype = 0;  // c10::ScalarType
  std::vector<std::int64_t> shape;
  bool requires_grad = false;
};

class TensorLaneWorker {
 public:
  virtual ~TensorLaneWorker() = default;
  // Meets the other end; blocks.
  virtual void prepare() = 0;
  // Sender: takes the parcel and says what is in it; send_opened() then puts it on the wire.
  virtual std::vector<TensorDescription> open(Ticket ticket) = 0;
  virtual void send_opened() = 0;
  // Receiver: waits for the announced tensors.
  virtual Ticket receive(const std::vector<TensorDescription>& tensors) = 0;
};

}  // namespace d9d
