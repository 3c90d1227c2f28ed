#pragma once
// Hands tensors from stage to stage, also from one device to another. The ticket's parcel carries
// an event that is recorded when the tensors are filled, and the stream of the receiving stage
// waits for it. The host never waits.

#include "runtime/device/device.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Puts tensors that the current stream fills into the table.
Ticket hand_over(TensorTable& table, TensorMap tensors, Device& device);
// Takes the tensors, for use on the current stream of `device`. Copies those that are on another device.
// Tensors of the host stay there. requires_grad does not change. It is a bug to take a ticket twice.
TensorMap take_over(TensorTable& table, Ticket ticket, Device& device);

}  // namespace d9d
