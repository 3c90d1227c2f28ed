#pragma once
// How stages hand tensors to each other, also from one device to another: the ticket's parcel carries the event by
// which they are filled, and the taker's stream waits for it. The host waits on neither side.

#include "runtime/device/device.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Tensors that the current stream fills.
Ticket hand_over(TensorTable& table, TensorMap tensors, Device& device);
// On `device`, to be used on its current stream: the sender's tensors, or copies of those that are on another device.
// Tensors of the host stay there. requires_grad stays as it was. A ticket that was taken before is a bug.
TensorMap take_over(TensorTable& table, Ticket ticket, Device& device);

}  // namespace d9d
