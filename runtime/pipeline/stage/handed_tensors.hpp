#pragma once
// Hands tensors from stage to stage, also from one device to another. The ticket's parcel carries
// an event that is recorded when the tensors are filled, and the stream of the receiving stage
// waits for it. The host never waits.

#include "runtime/device/device.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Tells the allocator that the current stream uses the tensors that are on the device: another stream may have made
// them, whose later work gets their memory when they are freed. Costs nothing on the stream that made them.
void use_here(const TensorMap& tensors, Device& device);
// Puts tensors that the current stream fills into the table.
Ticket hand_over(TensorTable& table, TensorMap tensors, Device& device);
// Takes the tensors, for use on the current stream of `device`. Copies those that are on another device.
// Tensors of the host stay there. requires_grad does not change. It is a bug to take a ticket twice.
TensorMap take_over(TensorTable& table, Ticket ticket, Device& device);

}  // namespace d9d
