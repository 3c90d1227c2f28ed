#pragma once
// Safetensors files to and from tensors. Reads only the bytes of the slice asked for.

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/safetensors_header.hpp"

namespace d9d {

// A file whose header has been checked. Const calls from several threads are fine.
class SafetensorsReader {
 public:
  SafetensorsReader(const Disk& disk, const std::string& path, Float8 float8 = Float8::refused);

  const std::string& path() const { return file_->path(); }
  const SafetensorsHeader& header() const { return header_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return header_.tensors.contains(name); }
  // An input error that names file and tensor when there is none of that name.
  const StoredTensor& at(const std::string& name) const;

  // Of the tensor's bytes, as runtime/state/disk/checksum.hpp.
  std::uint64_t checksum_of(const std::string& name) const;

  // A new contiguous CPU tensor, of the file's dtype or converted to `as`.
  at::Tensor read(const std::string& name, std::optional<at::ScalarType> as = {}) const;
  at::Tensor read(const std::string& name, const Slice& slice, std::optional<at::ScalarType> as = {}) const;
  // Into memory of the caller, contiguously, of the file's dtype.
  void read_into(const std::string& name, const Slice& slice, std::byte* into) const;

 private:
  std::unique_ptr<ReadFile> file_;
  SafetensorsHeader header_;
};

// Writes one file: header first, then tensors in any order, each at its place. Memory: nothing beyond the
// tensors given (one copy of a tensor that is not contiguous, not on the CPU or of another dtype).
class SafetensorsWriter {
 public:
  // Tensors lie in the file in the order of their element size, largest first, so that all are aligned.
  SafetensorsWriter(Disk& disk, const std::string& path, std::vector<TensorSpec> tensors,
                    const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

  const std::vector<TensorSpec>& order() const { return order_; }
  // A tensor of another dtype is converted. An input error when
  // name or shape are not as announced, or it comes twice.
  void write(const std::string& name, const at::Tensor& tensor);
  // A run of the tensor's values, in row-major order from the one with this number. Whether the tensor is whole
  // now; more values than it has are a bug. Several threads may write at once.
  bool write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part);
  // Place and shape of an announced tensor whose values have not all been written. An input error for others.
  StoredTensor stored(const std::string& name);
  // A bug when an announced tensor was never written. With
  // `sync` the bytes are on stable storage when it returns.
  void finish(bool sync);

 private:
  std::unique_ptr<WriteFile> file_;
  std::vector<TensorSpec> order_;
  struct Waiting {
    StoredTensor stored;
    std::uint64_t done = 0;  // bytes
  };
  Waiting& waiting(const std::string& name);  // under the mutex

  std::mutex mutex_;  // guards what follows
  std::map<std::string, Waiting> waiting_;
};

TensorSpec spec_of(const std::string& name, const at::Tensor& tensor);

// The tensor as contiguous CPU memory of that dtype; itself when it is already.
at::Tensor on_host(const at::Tensor& tensor, at::ScalarType type);

}  // namespace d9d
