#pragma once
// Reads and writes tensors in safetensors files. Reads only the bytes of the slice asked for.

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
  // Input error that names file and tensor: there is none of that name.
  const StoredTensor& at(const std::string& name) const;

  // The checksum of the tensor's bytes (runtime/state/disk/checksum.hpp).
  std::uint64_t checksum_of(const std::string& name) const;

  // Returns a new contiguous CPU tensor, of the file's dtype or converted to `as`.
  at::Tensor read(const std::string& name, std::optional<at::ScalarType> as = {}) const;
  at::Tensor read(const std::string& name, const Slice& slice, std::optional<at::ScalarType> as = {}) const;
  // Reads into the caller's memory, contiguously, in the file's dtype.
  void read_into(const std::string& name, const Slice& slice, std::byte* into) const;

 private:
  std::unique_ptr<ReadFile> file_;
  SafetensorsHeader header_;
};

// Writes one file: header first, then tensors in any order, each at its place. Memory: nothing beyond the
// tensors given (one copy of a tensor that is not contiguous, not on the CPU or of another dtype).
class SafetensorsWriter {
 public:
  // Tensors are placed by element size, largest first, so that all are aligned.
  SafetensorsWriter(Disk& disk, const std::string& path, std::vector<TensorSpec> tensors,
                    const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

  const std::vector<TensorSpec>& order() const { return order_; }
  // Writes a tensor, converted if it has another dtype. Input error: name or shape are not as
  // announced, or the tensor comes twice.
  void write(const std::string& name, const at::Tensor& tensor);
  // Writes a run of the tensor's values, in row-major order from `first_value` on. Returns
  // whether the tensor is complete now. More values than it has are a bug. Several threads
  // may write at once.
  bool write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part);
  // Returns place and shape of an announced tensor that is not complete yet. Input
  // error for any other.
  StoredTensor stored(const std::string& name);
  // Finishes the file. With `sync` the bytes are on stable storage when it returns. A bug if an
  // announced tensor was never written.
  void finish(bool sync);

 private:
  std::unique_ptr<WriteFile> file_;
  std::vector<TensorSpec> order_;
  struct Waiting {
    StoredTensor stored;
    std::uint64_t done = 0;  // bytes
  };
  Waiting& waiting(const std::string& name);  // call it under the mutex

  std::mutex mutex_;  // guards the members below
  std::map<std::string, Waiting> waiting_;
};

TensorSpec spec_of(const std::string& name, const at::Tensor& tensor);

// Returns the tensor as contiguous CPU memory of that dtype: itself if it is that already.
at::Tensor on_host(const at::Tensor& tensor, at::ScalarType type);

}  // namespace d9d
