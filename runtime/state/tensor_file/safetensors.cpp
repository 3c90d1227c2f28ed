#include "runtime/state/tensor_file/safetensors.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/isinf.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/tensor_file/slice_read.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Whether finite values became infinite.
bool overflows(const at::Tensor& given, const at::Tensor& half) {
  if (half.scalar_type() != at::kHalf || given.scalar_type() == at::kHalf) return false;
  const auto infinite = [](const at::Tensor& values) { return at::isinf(values).sum().item<std::int64_t>(); };
  const std::int64_t now = infinite(half);
  return now > 0 && now > infinite(given);
}

}  // namespace

SafetensorsReader::SafetensorsReader(const Disk& disk, const std::string& path, Float8 float8)
    : file_(disk.open(path)), header_(read_safetensors_header(*file_, float8)) {}

std::vector<std::string> SafetensorsReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : header_.tensors) names.push_back(name);
  return names;
}

const StoredTensor& SafetensorsReader::at(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  D9D_REQUIRE(found != header_.tensors.end(), "{} has no tensor \"{}\" (it has {})", path(), name,
              header_.tensors.size());
  return found->second;
}

std::uint64_t SafetensorsReader::checksum_of(const std::string& name) const {
  const auto& stored = at(name);
  return d9d::checksum_of(*file_, stored.offset, stored.spec.bytes());
}

at::Tensor SafetensorsReader::read(const std::string& name, std::optional<at::ScalarType> as) const {
  return read(name, whole(at(name).spec.shape), as);
}

at::Tensor SafetensorsReader::read(const std::string& name, const Slice& slice,
                                   std::optional<at::ScalarType> as) const {
  const auto type = scalar_type_of(at(name).spec.dtype);
  require_inside(slice, at(name).spec.shape, path() + ": tensor \"" + name + "\"");
  at::Tensor tensor = at::empty(slice.shape(), at::TensorOptions(type));
  read_into(name, slice, static_cast<std::byte*>(tensor.data_ptr()));
  return as && *as != type ? tensor.to(*as) : tensor;
}

void SafetensorsReader::read_into(const std::string& name, const Slice& slice, std::byte* into) const {
  const auto& stored = at(name);
  require_inside(slice, stored.spec.shape, path() + ": tensor \"" + name + "\"");
  read_slice(*file_, stored.offset, stored.spec.shape, size_of(stored.spec.dtype), slice, into);
}

SafetensorsWriter::SafetensorsWriter(Disk& disk, const std::string& path, std::vector<TensorSpec> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : order_(std::move(tensors)) {
  std::stable_sort(order_.begin(), order_.end(),
                   [](const auto& a, const auto& b) { return size_of(a.dtype) > size_of(b.dtype); });
  const std::string head = make_safetensors_header(order_, metadata);
  file_ = disk.create(path);
  std::uint64_t at = head.size();
  for (const auto& spec : order_) {
    waiting_.emplace(spec.name, Waiting{{spec, at}, 0});
    at += spec.bytes();
  }
  file_->reserve(at);
  file_->write(0, head.data(), head.size());
}

StoredTensor SafetensorsWriter::stored(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return waiting(name).stored;
}

SafetensorsWriter::Waiting& SafetensorsWriter::waiting(const std::string& name) {
  const auto found = waiting_.find(name);
  D9D_REQUIRE(found != waiting_.end(), "{}: tensor \"{}\" was not announced, or is written twice",
              file_->path(), name);
  return found->second;
}

void SafetensorsWriter::write(const std::string& name, const at::Tensor& tensor) {
  const auto spec = stored(name).spec;
  D9D_REQUIRE(tensor.sizes() == at::IntArrayRef(spec.shape),
              "{}: tensor \"{}\" was announced as {} and comes as {}", file_->path(), name,
              to_text(spec.shape), to_text(tensor.sizes().vec()));
  write_at(name, 0, tensor);
}

bool SafetensorsWriter::write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part) {
  const StoredTensor place = stored(name);
  const TensorSpec& spec = place.spec;
  const at::Tensor host = on_host(part, scalar_type_of(spec.dtype));
  D9D_REQUIRE(
      !overflows(part, host),
      "{}: a value of \"{}\" is beyond 65504, the largest of float16, and would be written as infinity; "
      "choose bfloat16 or float32",
      file_->path(), name);
  const auto begin = static_cast<std::uint64_t>(first_value) * size_of(spec.dtype);
  D9D_CHECK(begin + host.nbytes() <= spec.bytes(), "{}: tensor \"{}\" has {} bytes, {} come", file_->path(),
            name, spec.bytes(), begin + host.nbytes());
  file_->write(place.offset + begin, host.data_ptr(), host.nbytes());
  const std::lock_guard lock(mutex_);
  std::uint64_t& done = waiting(name).done;
  done += host.nbytes();
  D9D_CHECK(done <= spec.bytes(), "{}: values of \"{}\" are written twice", file_->path(), name);
  if (done < spec.bytes()) return false;
  waiting_.erase(name);
  return true;
}

void SafetensorsWriter::finish(bool sync) {
  D9D_CHECK(waiting_.empty(), "{}: {} announced tensors were not written, the first is \"{}\"", file_->path(),
            waiting_.size(), waiting_.begin()->first);
  file_->close(sync);
}

TensorSpec spec_of(const std::string& name, const at::Tensor& tensor) {
  return {name, dtype_of(tensor.scalar_type()), tensor.sizes().vec()};
}

at::Tensor on_host(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.detach().to(at::kCPU, type).contiguous();
}

}  // namespace d9d
