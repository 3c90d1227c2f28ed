#include "runtime/comm/gather.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int gathered_dims_max = 8;
// The largest tag, for gathered tensors only, so that they do not mix with other messages of the group.
constexpr int gather_tag = (1 << 30) - 1;

using Shape = std::vector<std::int64_t>;

// Exchanges dtype, number of dimensions and sizes of all ranks in one all_gather.
std::vector<Shape> exchange_shapes(Communicator& communicator, const at::Tensor& tensor) {
  D9D_CHECK(tensor.dim() <= gathered_dims_max, "gather of group {}: {} dimensions, at most {}",
            communicator.name(), tensor.dim(), gathered_dims_max);
  constexpr int num_fields = gathered_dims_max + 2;
  const at::Tensor mine = at::empty({num_fields}, at::kLong);
  auto* fields = mine.data_ptr<std::int64_t>();
  std::fill_n(fields, num_fields, 0);
  fields[0] = static_cast<std::int64_t>(tensor.scalar_type());
  fields[1] = tensor.dim();
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), fields + 2);
  at::Tensor all = at::empty({communicator.size() * num_fields}, at::kLong);
  const at::Device device = tensor.device();
  at::Tensor there = all.to(device);
  communicator.all_gather(there, mine.to(device)).wait();
  all = there.cpu();
  std::vector<Shape> shapes;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto* other = all.data_ptr<std::int64_t>() + rank * num_fields;
    D9D_CHECK(other[0] == fields[0], "gather of group {}: position {} has {}, position {} has {}",
              communicator.name(), communicator.rank(), c10::toString(tensor.scalar_type()), rank,
              c10::toString(static_cast<c10::ScalarType>(other[0])));
    shapes.emplace_back(other + 2, other + 2 + other[1]);
  }
  return shapes;
}

std::int64_t numel_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

at::Tensor tensor_of(const std::string& bytes) {
  return at::from_blob(const_cast<char*>(bytes.data()), {static_cast<std::int64_t>(bytes.size())}, at::kByte);
}

std::vector<std::string> strings_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> result;
  for (const at::Tensor& tensor : tensors) {
    result.emplace_back(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  return result;
}

}  // namespace

std::vector<at::Tensor> all_gather_variadic(Communicator& communicator, const at::Tensor& tensor) {
  const std::vector<Shape> shapes = exchange_shapes(communicator, tensor);
  std::int64_t longest = 0;
  for (const Shape& shape : shapes) longest = std::max(longest, numel_of(shape));
  at::Tensor padded = at::empty({longest}, tensor.options());
  padded.narrow(0, 0, tensor.numel()).copy_(tensor.reshape({-1}));
  at::Tensor all = at::empty({communicator.size(), longest}, tensor.options());
  communicator.all_gather(all, padded).wait();
  std::vector<at::Tensor> result;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    result.push_back(all.select(0, rank).narrow(0, 0, numel_of(shapes[rank])).view(shapes[rank]));
  }
  return result;
}

std::vector<at::Tensor> gather_variadic(Communicator& communicator, const at::Tensor& tensor, int root) {
  const std::vector<Shape> shapes = exchange_shapes(communicator, tensor);
  const at::Tensor own = tensor.contiguous();
  if (communicator.rank() != root) {
    communicator.send(own, root, gather_tag);
    return {};
  }
  std::vector<at::Tensor> result;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == root) {
      result.push_back(own);
      continue;
    }
    at::Tensor& other = result.emplace_back(at::empty(shapes[rank], tensor.options()));
    communicator.receive(other, rank, gather_tag).wait();
  }
  return result;
}

std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes) {
  return strings_of(all_gather_variadic(communicator, tensor_of(bytes)));
}

std::vector<std::string> gather_bytes(Communicator& communicator, const std::string& bytes, int root) {
  // The sender keeps the tensor until it is delivered, which may be after `bytes` is gone.
  return strings_of(gather_variadic(communicator, tensor_of(bytes).clone(), root));
}

}  // namespace d9d
