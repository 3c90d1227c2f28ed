#pragma once
// Finds LibTorch at start: libd9d.so names its libraries without a path, so that one program runs with the LibTorch of
// a venv, of a conda environment, or of an unpacked archive. Standard library only: d9d-node has this before all else.

#include <string>

namespace d9d {

struct TorchLibrary {
  std::string folder;   // that has libtorch_cpu.so; empty: none was found
  std::string version;  // "2.11.0+cpu"; empty: not known
  std::string cuda;     // "13.0"; empty: computes on CPUs only
  std::string problem;  // if none was found: why, and what to do
};

struct TorchSearch {
  std::string prefix;        // the program is in its folder bin
  std::string built_with;    // "2.11.0". Another minor release has other functions.
  std::string built_folder;  // where the build found it
};

// Looks in D9D_TORCH alone if it is a path. Otherwise in LD_LIBRARY_PATH, beside the program, in `built_folder`, in the
// venv or conda environment that is active, and where `pip install --user` and .ci/deps put it.
TorchLibrary find_torch(const TorchSearch& search);

// The one that this process has loaded.
TorchLibrary loaded_torch();

// "LibTorch 2.11.0+cu130 with CUDA 13.0, in /venv/lib/python3.11/site-packages/torch/lib"
std::string torch_text(const TorchLibrary& torch);

}  // namespace d9d
