#pragma once
// Which decoder layers a pipeline stage holds (PIPE-02), and on which device.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

// One stage of a pipeline.
struct StagePosition {
  int stage = 0;  // in [0, num_stages)
  int num_stages = 1;
  // The device on which the stage makes its parameters and buffers, in torch's notation: "cpu", "cuda:0".
  std::string device = "cpu";

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage == num_stages - 1; }
  bool operator==(const StagePosition&) const = default;
};

// Layers [begin, end).
struct LayerRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const LayerRange&) const = default;
};

// Distributes num_layers + virtual_pre + virtual_post layers evenly, with the remainder on the
// earliest stages. Then takes the virtual layers off the first and the last stage. Input error when
// a stage is left without a layer.
std::vector<LayerRange> distribute_layers(std::int64_t num_layers, int num_stages,
                                          std::int64_t virtual_pre = 0, std::int64_t virtual_post = 0);

}  // namespace d9d
