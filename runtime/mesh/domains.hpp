#pragma once
// Domains: the views of the same ranks that different parts of a job need. Pure integers.
//
//   regular  pp, dp_replicate, dp_shard, cp_shard, cp_replicate, tp      the raw degrees
//   dense    pp, dp_replicate, dp_cp_shard, cp_replicate, tp             where dense parameters are sharded
//   expert   pp, ep_replicate, ep_shard                                  where experts live
//   batch    pp, dp, cp, tp                                              who sees which samples
//   flat     world
//
// Every domain contains every rank exactly once, with the same number. A degree of 1 is an axis of size
// 1, also in a job of one rank. ep_replicate * ep_shard is the number of ranks of a stage,
// tensor-parallel ranks included (README.md).

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/mesh/mesh_parameters.hpp"

namespace d9d {

inline constexpr const char* regular_domain = "regular";
inline constexpr const char* dense_domain = "dense";
inline constexpr const char* expert_domain = "expert";
inline constexpr const char* batch_domain = "batch";
inline constexpr const char* flat_domain = "flat";
inline constexpr const char* host_domain = "host";  // no mesh: its groups follow from the plan (plan.hpp)

// To add a domain, pass one more of these to MeshDomains.
struct Domain {
  std::string name;
  Mesh (*build)(const DeviceMeshParameters& parameters);
};
std::vector<Domain> standard_domains();

class MeshDomains {
 public:
  // Validates the parameters (input errors). A domain that does not contain all ranks is a bug error.
  explicit MeshDomains(const DeviceMeshParameters& parameters,
                       const std::vector<Domain>& domains = standard_domains());

  const DeviceMeshParameters& parameters() const { return parameters_; }
  int world_size() const { return parameters_.world_size(); }
  // Returns the mesh of a domain. Input error, with a list of the domains, if there is none of that name.
  const Mesh& mesh_for(const std::string& domain) const;

 private:
  struct Entry {
    std::string name;
    Mesh mesh;
  };
  DeviceMeshParameters parameters_;
  std::vector<Entry> entries_;
};

// Returns the first standard domain that has all of these axes, host_domain for the axis of its name alone. Input
// error, with a list of all axes, if none has.
std::string domain_with(const std::vector<std::string>& axes, const MeshDomains& domains);

}  // namespace d9d
