#pragma once
// Options of an export: the processes and threads at work, and the size of files.

#include <cstdint>
#include <functional>

#include "runtime/state/model/publish_model.hpp"

namespace d9d {

struct ExportWork {
  ModelShare share{};  // of the files, where several processes fill one folder
  int threads = 1;
  std::uint64_t shard_bytes_max = 4'000'000'000;
  // Called by one thread at a time with bytes done and all bytes of this share.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

}  // namespace d9d
