#pragma once

#include <memory>

namespace d9d::kernels {

// Registers the ops as torch operators `d9d::linear`, `d9d::rms_norm`, ... for as long as it lives, so that
// scripts, plugins and torch's own tools reach them by name. One at a time in a process. C++ code calls the
// functions of the other headers instead: they skip the dispatcher.
class OperatorLibrary {
 public:
  OperatorLibrary();
  ~OperatorLibrary();
  OperatorLibrary(const OperatorLibrary&) = delete;
  OperatorLibrary& operator=(const OperatorLibrary&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d9d::kernels
