#pragma once
// Sends parcels of tensors from one rank to another over a Communicator. The sender announces a parcel in
// a message; the receiver allocates the tensors and receives them. Announcements and transfers of a wire
// have the same order on both ends. Tensors of a device travel as bytes of the host. They are copied on
// streams of their own while the rank computes, and only the wire's thread waits for the copies. One
// thread per end. No torch in this header.

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
  bool requires_grad = false;  // the sender wants its gradient back
  bool on_host = false;        // stays on the host, even if ranks compute on devices

  bool operator==(const TransferTensor&) const = default;
};

// The number of bytes on the wire. An element of an unknown dtype counts as one byte.
std::uint64_t bytes_of(const std::vector<TransferTensor>& tensors);

struct ParcelWireOptions {
  std::shared_ptr<Communicator> communicator;      // of the host
  int peer = 0;                                    // rank in the communicator's group
  int tag = 0;                                     // must differ between wires that share a communicator
  std::int64_t bytes_max = std::int64_t{1} << 36;  // of one parcel; a larger announcement is refused
  std::shared_ptr<Device> device = {};             // of the rank at this end; null: the CPU
};

class ParcelWire {
 public:
  virtual ~ParcelWire() = default;

  // Sending end: open() takes a TensorParcel and returns its announcement; send_opened() then sends it. Only
  // one parcel may be open at a time.
  virtual std::vector<TransferTensor> open(Ticket ticket) = 0;
  virtual void send_opened() = 0;

  // Receiving end: waits for the announced tensors and puts them into the table. On a device they are
  // complete when the parcel's event is. Environment error for an impossible announcement (unknown dtype,
  // negative or absurd size). Errors of the communicator pass through.
  virtual Ticket receive(const std::vector<TransferTensor>& announced) = 0;
};

// Keeps a reference to `table`.
std::unique_ptr<ParcelWire> make_parcel_wire(ParcelWireOptions options, TensorTable& table);

}  // namespace d9d
