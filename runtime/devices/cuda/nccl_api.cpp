// The functions of nccl.h (2.28, the version that torch is built with) and of the CUDA run time behind nccl::Api.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <optional>
#include <type_traits>

#include "runtime/devices/cuda/cuda_device.hpp"
#include "runtime/devices/cuda/plugin_nccl.hpp"

namespace d9d::cuda {
namespace {

using nccl::Comm;
using nccl::Event;
using nccl::Stream;

static_assert(nccl::success == ncclSuccess && nccl::in_progress == ncclInProgress);
static_assert(nccl::system_error == ncclSystemError && nccl::remote_error == ncclRemoteError);
static_assert(nccl::not_ready == cudaErrorNotReady);
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));

std::optional<ncclDataType_t> type_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool:
    case c10::ScalarType::Byte:
      return ncclUint8;
    case c10::ScalarType::Char:
      return ncclInt8;
    case c10::ScalarType::Int:
      return ncclInt32;
    case c10::ScalarType::Long:
      return ncclInt64;
    case c10::ScalarType::Half:
      return ncclFloat16;
    case c10::ScalarType::BFloat16:
      return ncclBfloat16;
    case c10::ScalarType::Float:
      return ncclFloat32;
    case c10::ScalarType::Double:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

// The types of nccl::Api as those of NCCL and CUDA. A handle becomes whichever pointer a function takes.
struct Handle {
  void* of;
  template <class T>
  operator T*() const {
    return static_cast<T*>(of);
  }
};
Handle theirs(void* handle) {
  return {handle};
}
ncclDataType_t theirs(c10::ScalarType type) {
  return *type_of(type);
}
ncclRedOp_t theirs(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::min:
      return ncclMin;
  }
  return ncclSum;
}
template <class Same>
Same theirs(Same same) {
  return same;
}

// Calls a function that takes the same arguments in the same order; ncclInvalidArgument for elements that NCCL lacks.
template <auto function, class... Arguments>
int call(Arguments... arguments) {
  [[maybe_unused]] const auto has = [](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), c10::ScalarType>) return type_of(argument).has_value();
    return true;
  };
  if (!(has(arguments) && ...)) return ncclInvalidArgument;
  return function(theirs(arguments)...);
}

ncclConfig_t config() {
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.blocking = 0;
  return options;
}

int init(Comm* comm, int size, const nccl::UniqueId& id, int rank) {
  ncclUniqueId theirs;
  std::memcpy(&theirs, id.bytes.data(), sizeof(theirs));
  ncclConfig_t options = config();
  return ncclCommInitRankConfig(reinterpret_cast<ncclComm_t*>(comm), size, theirs, rank, &options);
}

int async_error(Comm comm, int* result) {
  ncclResult_t found = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(theirs(comm), &found);
  *result = found;
  return asked;
}

void fill_nccl(nccl::Api& api) {
  api.text_of = [](int result) { return ncclGetErrorString(static_cast<ncclResult_t>(result)); };
  api.last_error = [](Comm comm) { return ncclGetLastError(theirs(comm)); };
  api.unique_id = [](nccl::UniqueId* id) -> int {
    return ncclGetUniqueId(reinterpret_cast<ncclUniqueId*>(id));
  };
  api.init = init;
  api.async_error = async_error;
  api.finalize = call<ncclCommFinalize>;
  api.destroy = call<ncclCommDestroy>;
  api.abort = call<ncclCommAbort>;
  api.group_start = call<ncclGroupStart>;
  api.group_end = call<ncclGroupEnd>;
  api.all_reduce = [](void* data, std::size_t count, c10::ScalarType type, ReduceOp op, Comm comm,
                      Stream stream) {
    return call<ncclAllReduce>(data, data, count, type, op, comm, stream);
  };
  api.reduce_scatter = call<ncclReduceScatter>;
  api.all_gather = call<ncclAllGather>;
  api.broadcast = [](void* data, std::size_t count, c10::ScalarType type, int root, Comm comm,
                     Stream stream) {
    return call<ncclBroadcast>(data, data, count, type, root, comm, stream);
  };
  api.send = call<ncclSend>;
  api.receive = call<ncclRecv>;
}

void fill_cuda(nccl::Api& api) {
  api.cuda_text_of = [](int result) { return cudaGetErrorString(static_cast<cudaError_t>(result)); };
  api.use_device = call<cudaSetDevice>;
  api.current_stream = [](int device) -> Stream {
    return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
  };
  api.create_stream = [](Stream* stream) -> int {
    // Its blocks come before those of a product that has filled the GPU, whose results they carry on.
    int lowest = 0, highest = 0;
    const cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (error != cudaSuccess) return error;
    return cudaStreamCreateWithPriority(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking,
                                        highest);
  };
  api.destroy_stream = call<cudaStreamDestroy>;
  api.create_event = [](Event* event) -> int {
    return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming);
  };
  api.destroy_event = call<cudaEventDestroy>;
  api.record = call<cudaEventRecord>;
  api.stream_waits = [](Stream stream, Event event) -> int {
    return cudaStreamWaitEvent(theirs(stream), theirs(event), 0);
  };
  api.record_time = [](int device, Stream stream) { return timed_event(device, stream); };
  api.query = call<cudaEventQuery>;
}

}  // namespace

const nccl::Api* nccl_of_this_build() {
  static const nccl::Api api = [] {
    nccl::Api filled;
    fill_nccl(filled);
    fill_cuda(filled);
    return filled;
  }();
  return &api;
}

}  // namespace d9d::cuda
