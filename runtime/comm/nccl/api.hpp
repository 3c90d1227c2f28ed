#pragma once
// What a communicator over NCCL calls of NCCL and of CUDA, as a table of plain functions. libd9d_cuda.so fills it with
// the functions of these libraries (runtime/devices/cuda/nccl_api.cpp), emulated.hpp with work of delayed devices.

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>

#include "runtime/comm/reduce_op.hpp"
#include "runtime/device/event.hpp"

namespace d9d::nccl {

using Comm = void*;    // ncclComm_t
using Stream = void*;  // cudaStream_t
using Event = void*;   // cudaEvent_t

// ncclResult_t.
constexpr int success = 0;
constexpr int system_error = 2;  // of the host, often: a socket is closed
constexpr int remote_error = 6;
constexpr int in_progress = 7;
// cudaErrorNotReady.
constexpr int not_ready = 600;

// ncclUniqueId. Rank 0 of a group makes it, and all members pass it to init.
struct UniqueId {
  std::array<char, 128> bytes;
};

struct Api {
  c10::DeviceType device_type = c10::DeviceType::CUDA;  // of the tensors that these functions can read

  // NCCL. Results are ncclResult_t, counts are elements. Communicators are non-blocking: a call may
  // return in_progress, and async_error() then returns something else once the call is complete.
  const char* (*text_of)(int result) = nullptr;
  const char* (*last_error)(Comm comm) = nullptr;  // "" for none
  int (*unique_id)(UniqueId* id) = nullptr;
  int (*init)(Comm* comm, int size, const UniqueId& id, int rank) = nullptr;
  int (*async_error)(Comm comm, int* result) = nullptr;
  int (*finalize)(Comm comm) = nullptr;  // enqueued operations still run
  int (*destroy)(Comm comm) = nullptr;   // after finalize
  int (*abort)(Comm comm) = nullptr;     // ends kernels that wait for a peer, and frees the communicator
  int (*group_start)() = nullptr;        // makes one operation of the thread's calls until group_end
  int (*group_end)() = nullptr;
  int (*all_reduce)(void* data, std::size_t count, c10::ScalarType type, ReduceOp op, Comm comm,
                    Stream stream) = nullptr;
  int (*reduce_scatter)(const void* in, void* out, std::size_t count_out, c10::ScalarType type, ReduceOp op,
                        Comm comm, Stream stream) = nullptr;
  int (*all_gather)(const void* in, void* out, std::size_t count_in, c10::ScalarType type, Comm comm,
                    Stream stream) = nullptr;
  int (*broadcast)(void* data, std::size_t count, c10::ScalarType type, int root, Comm comm,
                   Stream stream) = nullptr;
  int (*send)(const void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm,
              Stream stream) = nullptr;
  int (*receive)(void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm,
                 Stream stream) = nullptr;

  // CUDA. Results are cudaError_t.
  const char* (*cuda_text_of)(int result) = nullptr;
  int (*use_device)(int device) = nullptr;         // by the calling thread
  Stream (*current_stream)(int device) = nullptr;  // of the calling thread
  int (*create_stream)(Stream* stream) = nullptr;  // non-blocking, on the thread's device
  int (*destroy_stream)(Stream stream) = nullptr;  // enqueued work still runs
  int (*create_event)(Event* event) = nullptr;     // without times
  int (*destroy_event)(Event event) = nullptr;
  int (*record)(Event event, Stream stream) = nullptr;
  int (*stream_waits)(Stream stream, Event event) = nullptr;  // the stream, not the caller
  int (*query)(Event event) = nullptr;                        // success or not_ready

  // Optional functions: null in some tables.
  // Replaces init for a group over several processes. Null: init is for both.
  int (*init_across)(Comm* comm, int size, const UniqueId& id, int rank) = nullptr;
  // Records an event that also tells when it was reached. Null: this table has none.
  d9d::Event (*record_time)(int device, Stream stream) = nullptr;
  // Works until the event is reached or no work is ready, on devices that run only while a
  // thread waits. Null: GPU.
  void (*work_for)(Event event) = nullptr;
};

}  // namespace d9d::nccl
