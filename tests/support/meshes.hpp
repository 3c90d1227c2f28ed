#pragma once
// The meshes that the tests of all strategies together are run on: every one at night (D9D_NIGHT=1), samples by day,
// which D9D_MESH_SEED (1) chooses.

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/mesh/mesh_parameters.hpp"

namespace d9d::test {

// What a model allows.
struct MeshLimits {
  int pipeline = 0;  // layers
  int tensor = 0;    // heads of keys and values
  int experts = 0;   // 0: none
  bool context = true;
};

// Every mesh of this many ranks: the degrees are divisors.
std::vector<DeviceMeshParameters> meshes_of(int ranks, const MeshLimits& limits);

// `count` of them, in their order; all of them at night.
std::vector<DeviceMeshParameters> sampled(std::vector<DeviceMeshParameters> meshes, std::size_t count);

// "pp2 dpr1 dps3 cpr1 cps1 tp1 ep3"
std::string text_of(const DeviceMeshParameters& mesh);

}  // namespace d9d::test

namespace d9d {

inline void PrintTo(const DeviceMeshParameters& mesh, std::ostream* out) {
  *out << test::text_of(mesh);
}

}  // namespace d9d
