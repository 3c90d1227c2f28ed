#pragma once
// One object that torch.save wrote into a part of a file: a tensor, or numbers, texts, lists and dicts.

#include <ATen/core/Tensor.h>

#include <string>

#include "runtime/state/dcp/pickle.hpp"
#include "runtime/state/dcp/zip_archive.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

// The Dtype of "torch.bfloat16", "torch.float32", ...; an input error that begins with `where` for others.
Dtype dtype_of_torch(const std::string& name, const std::string& where);

class TorchItem {
 public:
  // `where` says what the object is. Input errors: see ZipArchive and Pickle.
  TorchItem(const ReadFile& file, FileRange range, const std::string& where);

  const Pickle& pickle() const { return pickle_; }
  bool is_tensor() const;
  // A new contiguous CPU tensor. An input error when the object is none, or does not fit its bytes.
  at::Tensor tensor() const;

 private:
  const std::string where_;
  const ZipArchive archive_;
  const Pickle pickle_;
};

}  // namespace d9d
