#pragma once
// Sends parcels of tensors from one rank to another over a Communicator. The sender announces a
// parcel in a message, the receiver allocates the tensors and receives them. Announcements and
// transfers of a wire have the same order on both ends. Tensors of a device travel as bytes of the host: copied out and
// in on streams of their own, beside what the rank computes, and only the thread of the wire waits for a copy.
// No torch in this header. One thread per end.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

class Communicator;
class Device;

// One announced tensor.
struct TransferTensor {
  std::string name;
  std::uint8_t dtype = 0;  // c10::ScalarType
  std::vector<std::int64_t> shape;
  bool requires_grad = false;  // its gradient is wanted back
  bool on_host = false;        // also where ranks compute on devices

  bool operator==(const TransferTensor&) const = default;
};

// What they take on the wire; a dtype that is none counts as bytes.
std::uint64_t bytes_of(const std::vector<TransferTensor>& tensors);

struct ParcelWireOptions {
  std::shared_ptr<Communicator> communicator;      // of the host
  int peer = 0;                                    // rank in the communicator's group
  int tag = 0;                                     // wires that share a communicator have different tags
  std::int64_t bytes_max = std::int64_t{1} << 36;  // of one parcel; a larger announcement is refused
  std::shared_ptr<Device> device = {};             // of the rank at this end; null: the CPU
};

class ParcelWire {
 public:
  virtual ~ParcelWire() = default;

  // Sending end: takes the TensorParcel and says what is in it; send_opened() then puts it on the wire.
  // Exactly one parcel is open at a time.
  virtual std::vector<TransferTensor> open(Ticket ticket) = 0;
  virtual void send_opened() = 0;

  // Receiving end: waits for the announced tensors and puts them into the table; on a device they are there by the
  // parcel's event. An announcement that no sender of ours makes (unknown dtype, negative or
  // absurd size) is an environment error. Errors of the communicator pass through.
  virtual Ticket receive(const std::vector<TransferTensor>& announced) = 0;
};

// `table` outlives the wire.
std::unique_ptr<ParcelWire> make_parcel_wire(ParcelWireOptions options, TensorTable& table);

}  // namespace d9d
