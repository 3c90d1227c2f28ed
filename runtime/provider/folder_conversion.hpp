#pragma once
// A Hugging Face folder made into another one: `d9d-node convert`. Blocks on the disk.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

class NamedMappers;

struct FolderConversion {
  std::string from;  // of a model, or of an adapter as peft saved it: then it is merged
  std::string base;  // of an adapter; empty: what its adapter_config.json says
  std::string to;
  std::string mapper;          // a name or a file, as choose_conversion_mapper() takes it
  std::optional<Dtype> dtype;  // of floating-point tensors; stands above the rules'
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::uint64_t box_bytes = 4 << 20;
  int threads = 1;
  bool replace = false;                                                   // a model that is in `to`
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // bytes
};

struct ConversionSummary {
  std::size_t num_tensors = 0;
  std::size_t num_shards = 0;
  std::uint64_t bytes = 0;                // of the tensors
  std::vector<std::string> left_tensors;  // of `from` that `to` does not have
  std::vector<std::string> left_files;    // folders and weights of other programs
};

// Fills `to` whole or not at all (state/model/export_folder.hpp). What is not weights is carried along byte for
// byte, except that config.json tells the new dtype; with an adapter, what is beside its base's weights, under
// the files of a tokenizer that the adapter's folder has, and config.json tells of a head that the adapter brings.
// Input errors: `from` is no folder of a model, `to` is the same folder or holds a model already, and those of
// choose_conversion_mapper() and convert_model_state().
ConversionSummary convert_folder(Disk& disk, const FolderConversion& conversion, const NamedMappers& named);

}  // namespace d9d
